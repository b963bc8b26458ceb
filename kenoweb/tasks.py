"""The dashboard's jobs."""

from django.contrib.auth.models import User
from django.utils import timezone
from procrastinate.contrib.django import app

from kenoweb import demo
from memory.history.actors import person
from memory.jobs import AFTER_OUTAGE
from memory.operations import erasing


@app.task(name=demo.TASK, retry=AFTER_OUTAGE)
def make_demo(user_id: int) -> None:
    demo.make(owners=User.objects.filter(pk=user_id), now=timezone.now())


@app.task(name="kenoweb.delete_account", retry=AFTER_OUTAGE)
def delete_account(user_id: int) -> None:
    """Erase what the person said in each of their spaces, then the account."""
    user = User.objects.filter(pk=user_id, is_active=False).first()
    if user is None:
        return
    for member in user.memberships.select_related("space", "user"):
        name, by = erasing.name_of(member), person(user)
        erasing.run(erasing.start(member.space, "member", member, typed=name, by=by))
    user.delete()
