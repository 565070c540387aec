from tasks.declare import Subscription
from tests.probe import kinds as k

kinds = [value for value in vars(k).values() if isinstance(value, k.TaskKind)]
events = [k.NOTICED, k.IGNORED]
subscriptions = [Subscription(k.NOTICED, k.HEARS)]
