from django import forms

from accounts.models import MailSupplier


class SupplierForm(forms.Form):
    """What the owner types; the operation decides what is right."""

    host = forms.CharField(label="Server", required=False, help_text="For example smtp.example.org")
    port = forms.IntegerField(label="Port", initial=587, required=False)
    security = forms.ChoiceField(label="Security", choices=MailSupplier.SECURITY, initial="starttls")
    user = forms.CharField(label="User", required=False, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    password = forms.CharField(
        label="Password",
        required=False,
        help_text="Kept encrypted, never shown again. Empty keeps the one stored for this server and user.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    from_address = forms.CharField(label="From address", required=False, widget=forms.EmailInput)
