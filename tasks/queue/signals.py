"""The one signal of the task table: sent once per statement that changed states, inside its transaction."""

from django.dispatch import Signal

post_transition = Signal()  # sent with transitions=[Transition, …]; a receiver that raises rolls the change back
