"""Between the records on disk and the records that travel."""

from __future__ import annotations

from adapters.conversation import Message, Picture, Reply, Text
from harness.runs.records import MessageRecord, PictureRecord, ReplyRecord


def picture_record(picture: Picture) -> PictureRecord:
    """A picture as it is written."""
    return PictureRecord(picture.digest, picture.recipe, picture.width, picture.height)


def message_record(message: Message) -> MessageRecord:
    """A message as it is written."""
    parts = tuple(p.text if isinstance(p, Text) else picture_record(p) for p in message.parts)
    return MessageRecord(message.role, parts, message.native)


def reply_record(reply: Reply) -> ReplyRecord:
    """A reply as it is written."""
    return ReplyRecord(
        text=reply.text,
        finish=reply.finish,
        usage=reply.usage,
        model=reply.model,
        latency_s=reply.latency_s,
        native=reply.native,
        request_id=reply.request_id,
        sent=dict(reply.sent),
        token_ids=reply.token_ids,
    )


def as_reply(record: ReplyRecord) -> Reply:
    """A reply on record, as the dialogue received it."""
    return Reply(
        text=record.text,
        finish=record.finish,
        usage=record.usage,
        model=record.model,
        latency_s=record.latency_s,
        native=record.native,
        request_id=record.request_id,
        sent=record.sent,
        token_ids=record.token_ids,
    )
