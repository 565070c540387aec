"""Ages and amounts as people read them."""


def age(seconds: float) -> str:
    """The two largest units: 42 s, 3 min 5 s, 2 h 10 min, 4 days 1 h."""
    whole = max(0, int(seconds))
    days, hours, minutes = whole // 86_400, whole // 3600 % 24, whole // 60 % 60
    parts = ((days, "day" if days == 1 else "days"), (hours, "h"), (minutes, "min"), (whole % 60, "s"))
    first = next((i for i, (n, _) in enumerate(parts) if n), 3)
    return " ".join(f"{n} {unit}" for n, unit in parts[first : first + 2] if n) or "0 s"


def amount(n: int, more: bool = False) -> str:
    """10,000, with a plus where counting stopped there."""
    return f"{n:,}{'+' if more else ''}"
