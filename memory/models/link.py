from django.db import models
from django.utils import timezone

from memory.models.space import Member, Space


class ChatLink(models.Model):
    """A person of a channel is a member of the space. Until its code is used it is an offer."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="chat_links")
    member = models.ForeignKey(Member, models.CASCADE, related_name="chat_links")
    # SHA-256 of the code, which is shown once.
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    channel = models.CharField(max_length=32, blank=True)
    author_id = models.CharField(max_length=128, blank=True)
    author = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    linked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["space", "channel", "author_id"],
                condition=models.Q(linked_at__isnull=False),
                name="chat_link_once",
            ),
        ]

    def __str__(self):
        return f"{self.channel} {self.author or self.author_id} is {self.member}"
