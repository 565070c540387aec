from tasks.declare import Serves

REQUEST_ROW = Serves("admin:requests_accessrequest_change", "access request", "request_id")
