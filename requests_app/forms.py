from django import forms

from requests_app.models import AccessRequest


class RequestForm(forms.ModelForm):
    class Meta:
        model = AccessRequest
        fields = ("name", "organisation", "email", "message")
        labels = {"name": "Your name", "organisation": "Organisation", "email": "E-mail", "message": "Message"}
        help_texts = {
            "email": "The code goes to this address.",
            "message": "Who you are, and what you would like to know.",
        }
        widgets = {
            "name": forms.TextInput(attrs={"autocomplete": "name"}),
            "organisation": forms.TextInput(attrs={"autocomplete": "organization"}),
            "email": forms.EmailInput(attrs={"autocomplete": "email"}),
            "message": forms.Textarea(attrs={"rows": 6}),
        }
