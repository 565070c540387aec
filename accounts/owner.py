from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.core.validators import MaxLengthValidator, ProhibitNullCharactersValidator
from django.db import models
from django.db.models.functions import Lower


class OwnerManager(BaseUserManager["Owner"]):
    def get_by_natural_key(self, username: str | None) -> "Owner":
        return self.get(email__iexact=(username or "").replace("\0", ""))

    def create_user(self, email: str, password: str | None = None, **extra: Any) -> "Owner":
        if not email:
            raise ValueError("An owner signs in by e-mail: give an address.")
        owner = self.model(email=email.strip(), **extra)
        owner.set_password(password)
        owner.save(using=self._db)
        return owner

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> "Owner":
        return self.create_user(email, password, **{"is_staff": True, "is_superuser": True, **extra})

    def of_this_page(self) -> "Owner | None":
        """Whom the public page answers for: the first active owner."""
        return self.filter(is_active=True, is_superuser=True).order_by("pk").first()


class Owner(AbstractBaseUser, PermissionsMixin):
    """The person whose page this is. Signs in by e-mail."""

    email = models.EmailField("e-mail", unique=True, validators=[ProhibitNullCharactersValidator()])
    full_name = models.CharField(max_length=200, blank=True)
    introduction = models.TextField(blank=True, max_length=2000, validators=[MaxLengthValidator(2000)])
    time_zone = models.CharField(max_length=64, default="UTC")
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = OwnerManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name_plural = "account"
        constraints = [
            models.UniqueConstraint(
                Lower("email"), name="owner_email_once", violation_error_message="There is an owner with this e-mail."
            )
        ]

    def __str__(self) -> str:
        return self.full_name or self.email

    def get_full_name(self) -> str:
        return str(self)

    def get_short_name(self) -> str:
        return str(self)
