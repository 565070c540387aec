from django.db import transaction

from accounts.models import AccessCode, MailSupplier


@transaction.atomic(durable=True)
def rotate_secrets() -> tuple[int, int]:
    """Read with either secret and write with the present one; how many suppliers and codes that were."""
    suppliers = MailSupplier.objects.select_for_update().exclude(password_encrypted="")
    for supplier in suppliers:
        supplier.password = supplier.password
        supplier.save(update_fields=["password_encrypted"])
    codes = AccessCode.objects.select_for_update()
    for code in codes:
        code.keep_text(code.text)
        code.save(update_fields=["hash", "text_encrypted"])
    return len(suppliers), len(codes)
