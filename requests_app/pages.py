from tasks.declare import Serves

REQUEST_ROW = Serves("admin:requests_accessrequest_change", "request_id", "access request")
