class Refused(Exception):
    """The house said no, in a sentence that the person can act on."""

    code = "refused"
    status = 400


class NotAllowed(Refused):
    code = "not_allowed"
    status = 403


class NotFound(Refused):
    code = "not_found"
    status = 404


class WrongState(Refused):
    code = "wrong_state"
    status = 409


class BadInput(Refused):
    """`fields` names what was wrong with each input, where that is known."""

    code = "bad_input"
    status = 422

    def __init__(self, sentence: str, fields: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.fields = fields or {}


class TooMany(Refused):
    code = "too_many"
    status = 429
