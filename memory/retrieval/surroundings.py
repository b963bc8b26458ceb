"""A turn of talk says little alone: what was said before and after it comes along."""

from django.db import connection

from memory.retrieval.ranking import Scored

SQL = """
SELECT m.id, before.author, before.text, after.author, after.text
FROM memory_message m
LEFT JOIN LATERAL (
  SELECT coalesce(nullif(p.author, ''), p.role) AS author, p.text FROM memory_message p
  JOIN memory_unit u ON u.kind = 'message' AND u.owner_id = p.id AND u.live
  WHERE p.chat_id = m.chat_id AND (p.sent_at, p.id) < (m.sent_at, m.id)
    AND p.episode_id IS NOT DISTINCT FROM m.episode_id
  ORDER BY p.sent_at DESC, p.id DESC LIMIT 1) AS before ON true
LEFT JOIN LATERAL (
  SELECT coalesce(nullif(n.author, ''), n.role) AS author, n.text FROM memory_message n
  JOIN memory_unit u ON u.kind = 'message' AND u.owner_id = n.id AND u.live
  WHERE n.chat_id = m.chat_id AND (n.sent_at, n.id) > (m.sent_at, m.id)
    AND n.episode_id IS NOT DISTINCT FROM m.episode_id
  ORDER BY n.sent_at, n.id LIMIT 1) AS after ON true
WHERE m.id = ANY(%s)
"""


def add(items: list[Scored]) -> None:
    """Fill `around` of the messages among them: (who, what) before and after."""
    turns = {one.unit.owner_id: one for one in items if one.unit.kind == "message"}
    if not turns:
        return
    with connection.cursor() as cursor:
        cursor.execute(SQL, [list(turns)])
        for pk, who_before, before, who_after, after in cursor.fetchall():
            beside = [(who_before, before), (who_after, after)]
            turns[pk].around = [(who, said) if said else None for who, said in beside]
