from tasks.declare import Operation, Subscription, Wait
from tests.probe import kinds as k
from tests.probe import operations as do

VIEW, CHANGE, MCP = "probe.view_effect", "probe.change_effect", frozenset({"mcp"})
WAIT = Wait(20, jobs=lambda started: [started.job_id], again=do.state_now)

kinds = [value for value in vars(k).values() if isinstance(value, k.TaskKind)]
events = [k.NOTICED, k.IGNORED]
subscriptions = [Subscription(k.NOTICED, k.HEARS)]
operations = [
    Operation("probe.echo", do.echo, "Say it again", VIEW, MCP, reads=True),
    Operation("probe.crash", do.crash, "Fail as nobody expected", VIEW, MCP, reads=True),
    Operation("probe.start", do.start, "Start a job and wait for it", CHANGE, MCP, wait=WAIT),
    Operation("probe.later", do.later, "Start a job that is due later and wait for it", CHANGE, MCP, wait=WAIT),
    Operation("probe.join", do.join, "Wait for a job that others wait for too", CHANGE, MCP, wait=WAIT),
]
