from django.db import models


class Effect(models.Model):
    """What a probe's handler did, and in which process."""

    name = models.CharField(max_length=100)
    pid = models.IntegerField()
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Settled(models.Model):
    """What a probe's `settle` was told."""

    name = models.CharField(max_length=100, unique=True)
    state = models.CharField(max_length=20)
    reason = models.TextField()

    def __str__(self) -> str:
        return self.name
