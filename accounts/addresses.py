from django.core.exceptions import ValidationError


def deliverable(address: str) -> None:
    """Refuse what no column keeps or no header carries: quoted local parts and encoded words."""
    if len(address) > 254 or '"' in address or "=?" in address:
        raise ValidationError("Enter a valid email address.")
