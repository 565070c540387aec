"""The MCP face: every operation that is offered to AI clients, as a tool. Nothing here names an operation."""
