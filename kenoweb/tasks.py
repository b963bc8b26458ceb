"""The dashboard's jobs."""

from django.contrib.auth.models import User
from django.utils import timezone
from procrastinate.contrib.django import app

from kenoweb import demo
from memory.jobs import AFTER_OUTAGE


@app.task(name=demo.TASK, retry=AFTER_OUTAGE)
def make_demo(user_id: int) -> None:
    """The demo space, for the person who asked for it."""
    demo.make(owners=User.objects.filter(pk=user_id), now=timezone.now())
