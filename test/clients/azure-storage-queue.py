# The Queue service with azure.storage.queue, the Python SDK, as packaged by Debian. Every function whose name begins
# with test_ is a test. The server's clock stands still, so timeouts are tested elsewhere. Run by python.test.ts.
import sys
import uuid
from datetime import datetime, timedelta, timezone

from azure.core.exceptions import (
    ClientAuthenticationError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from azure.storage.queue import (
    AccessPolicy,
    AccountSasPermissions,
    BinaryBase64DecodePolicy,
    BinaryBase64EncodePolicy,
    CorsRule,
    QueueClient,
    QueueSasPermissions,
    QueueServiceClient,
    ResourceTypes,
    generate_account_sas,
    generate_queue_sas,
)
from suite import refusal, run_tests

CONNECTION_STRING = sys.argv[1]
SERVICE = QueueServiceClient.from_connection_string(CONNECTION_STRING, retry_total=0)
WEEK = timedelta(days=7)


def new_queue(*texts):
    queue = SERVICE.create_queue(f"python-{uuid.uuid4()}")
    for text in texts:
        queue.send_message(text)
    return queue


# The exceptions that programs catch.
ERRORS = {
    "MessageNotFound": ResourceNotFoundError,
    "QueueAlreadyExists": ResourceExistsError,
    "QueueNotFound": ResourceNotFoundError,
}


refused = refusal(ERRORS)


def texts(messages):
    return [message.content for message in messages]


def count(queue):
    return queue.get_queue_properties().approximate_message_count


def test_queue_is_created_once_has_metadata_and_is_deleted():
    name = f"python-{uuid.uuid4()}"
    queue = SERVICE.create_queue(name, metadata={"owner": "me"})
    # This SDK treats even the success of creating it again (204) as an error.
    for owner in ("me", "you"):
        refused("QueueAlreadyExists", queue.create_queue, metadata={"owner": owner})
    found = queue.get_queue_properties()
    assert (found.name, found.metadata) == (name, {"owner": "me"})
    assert found.approximate_message_count == 0
    queue.set_queue_metadata({"owner": "you", "more": "1"})
    assert queue.get_queue_properties().metadata == {"owner": "you", "more": "1"}
    queue.delete_queue()
    for call in (queue.get_queue_properties, queue.receive_message, queue.delete_queue):
        refused("QueueNotFound", call)
    refused("QueueNotFound", queue.send_message, "x")


def test_queues_are_listed_in_order_by_page_and_prefix():
    prefix = f"list-{uuid.uuid4()}"
    for letter in "bca":
        SERVICE.create_queue(f"{prefix}-{letter}", metadata={"letter": letter})
    pages = SERVICE.list_queues(name_starts_with=prefix, results_per_page=2).by_page()
    assert [[queue.name[-1] for queue in page] for page in pages] == [["a", "b"], ["c"]]
    listed = SERVICE.list_queues(name_starts_with=prefix, include_metadata=True)
    assert [queue.metadata["letter"] for queue in listed] == ["a", "b", "c"]


def test_sent_message_has_id_receipt_and_times():
    queue = new_queue()
    sent = queue.send_message("text", visibility_timeout=5)
    assert uuid.UUID(sent.id) and sent.pop_receipt
    assert sent.expires_on - sent.inserted_on == WEEK
    assert sent.next_visible_on - sent.inserted_on == timedelta(seconds=5)
    assert count(queue) == 1 and queue.receive_message() is None
    queue.delete_message(sent)
    assert count(queue) == 0


def test_sender_sets_the_time_to_live():
    queue = new_queue()
    sent = queue.send_message("minute", time_to_live=60)
    assert sent.expires_on - sent.inserted_on == timedelta(minutes=1)
    assert queue.send_message("forever", time_to_live=-1).expires_on.year == 9999
    year = 365 * 24 * 60 * 60
    sent = queue.send_message("year", time_to_live=year)
    assert sent.expires_on - sent.inserted_on == timedelta(seconds=year)
    refused("OutOfRangeQueryParameterValue", queue.send_message, "x", time_to_live=-2)
    assert count(queue) == 3


def test_messages_are_received_in_order_hidden_and_counted():
    queue = new_queue("1", "2", "3", "4", "5")
    first = queue.receive_message(visibility_timeout=60)
    assert (first.content, first.dequeue_count) == ("1", 1)
    assert first.next_visible_on - first.inserted_on >= timedelta(seconds=60)
    pages = queue.receive_messages(messages_per_page=3, visibility_timeout=60).by_page()
    assert [texts(page) for page in pages] == [["2", "3", "4"], ["5"]]
    assert list(queue.receive_messages()) == []
    assert count(queue) == 5


def test_receive_returns_at_most_the_requested_number():
    queue = new_queue(*"123456")
    received = queue.receive_messages(messages_per_page=2, max_messages=5)
    assert texts(received) == list("12345")
    assert texts(queue.peek_messages(max_messages=32)) == ["6"]


def test_peek_neither_hides_nor_counts():
    queue = new_queue("1", "2")
    for _ in range(2):
        seen = queue.peek_messages(max_messages=32)
        assert texts(seen) == ["1", "2"]
        assert [(message.dequeue_count, message.pop_receipt) for message in seen] == [(0, None)] * 2
    assert queue.receive_message().dequeue_count == 1


def test_update_changes_receipt_text_and_time():
    queue = new_queue("first")
    message = queue.receive_message()
    updated = queue.update_message(message, visibility_timeout=0, content="second")
    assert (updated.content, updated.id) == ("second", message.id)
    assert updated.pop_receipt != message.pop_receipt
    again = queue.receive_message(visibility_timeout=30)
    assert (again.content, again.dequeue_count) == ("second", 2)
    # Without a text only the time changes.
    queue.update_message(again.id, again.pop_receipt, visibility_timeout=0)
    assert texts(queue.peek_messages()) == ["second"]


def test_stale_receipt_is_refused():
    queue = new_queue("x", "y")
    first = queue.receive_message()
    latest = queue.update_message(first, visibility_timeout=10)
    refused("MessageNotFound", queue.delete_message, first.id, first.pop_receipt)
    refused("MessageNotFound", queue.update_message, first.id, first.pop_receipt, content="z")
    other = queue.receive_message()
    refused("PopReceiptMismatch", queue.delete_message, first.id, other.pop_receipt)
    refused("InvalidQueryParameterValue", queue.delete_message, first.id, "nonsense")
    queue.delete_message(latest)
    refused("MessageNotFound", queue.delete_message, latest)
    assert count(queue) == 1


def test_clear_removes_all_messages_and_keeps_the_queue():
    queue = new_queue("1", "2", "3")
    hidden = queue.receive_message()
    queue.clear_messages()
    assert (count(queue), queue.peek_messages()) == (0, [])
    refused("MessageNotFound", queue.delete_message, hidden)
    queue.send_message("after")
    assert queue.receive_message().content == "after"


def test_any_text_is_returned():
    # Leading and trailing spaces, line ends, markup and characters outside the basic plane.
    odd = ["", " ", " a \n b\t", "<b>&amp;]]>\"'", "größe 𝄞 日本", "x" * 65_536]
    queue = new_queue(*odd)
    assert texts(queue.receive_messages(messages_per_page=32)) == odd
    refused("RequestBodyTooLarge", queue.send_message, "x" * 65_537)


def test_bytes_are_sent_as_base64():
    queue = new_queue()
    binary = QueueClient.from_connection_string(
        CONNECTION_STRING,
        queue.queue_name,
        message_encode_policy=BinaryBase64EncodePolicy(),
        message_decode_policy=BinaryBase64DecodePolicy(),
        retry_total=0,
    )
    everything = bytes(range(256))
    binary.send_message(everything)
    assert binary.receive_message().content == everything


def test_limits_of_parameters():
    queue = new_queue("x")
    for wrong in ({"visibility_timeout": WEEK.days * 86_400 + 1}, {"messages_per_page": 33}):
        refused("OutOfRangeQueryParameterValue", lambda: list(queue.receive_messages(**wrong)))
    assert queue.peek_messages()[0].dequeue_count == 0


def in_an_hour():
    return datetime.now(timezone.utc) + timedelta(hours=1)


def guest_with(queue, **sas):
    key = SERVICE.credential.account_key
    token = generate_queue_sas(queue.account_name, queue.queue_name, key, **sas)
    return QueueClient.from_queue_url(f"{queue.url}?{token}", retry_total=0)


def test_sas_grants_its_permissions():
    queue = new_queue("x")
    permissions = QueueSasPermissions(add=True, read=True)
    guest = guest_with(queue, permission=permissions, expiry=in_an_hour())
    guest.send_message("y")
    assert texts(guest.peek_messages(2)) == ["x", "y"]
    refused("AuthorizationPermissionMismatch", guest.receive_message)
    refused("AuthorizationFailure", guest.clear_messages)
    worker = guest_with(queue, permission=QueueSasPermissions(process=True), expiry=in_an_hour())
    worker.delete_message(worker.receive_message())
    assert texts(queue.peek_messages(2)) == ["y"]
    late = datetime.now(timezone.utc) - timedelta(hours=1)
    gone = guest_with(queue, permission=permissions, expiry=late)
    try:
        gone.peek_messages()
    except ClientAuthenticationError as failure:
        assert failure.error_code == "AuthenticationFailed", failure.error_code
        return
    raise AssertionError("an expired signature was accepted")


def test_stored_access_policy_grants_permissions_until_it_is_removed():
    queue = new_queue("x")
    starts = datetime(2020, 1, 1, tzinfo=timezone.utc)
    policy = AccessPolicy(QueueSasPermissions(read=True), in_an_hour(), starts)
    queue.set_queue_access_policy({"readers": policy, "empty": None})
    found = queue.get_queue_access_policy()
    assert sorted(found) == ["empty", "readers"]
    assert found["readers"].permission == "r"
    guest = guest_with(queue, policy_id="readers")
    assert texts(guest.peek_messages()) == ["x"]
    refused("AuthorizationPermissionMismatch", guest.send_message, "y")
    queue.set_queue_access_policy({})
    assert queue.get_queue_access_policy() == {}
    refused("AuthenticationFailed", guest.peek_messages)


def test_account_sas_lists_queues():
    queue = new_queue()
    token = generate_account_sas(
        SERVICE.account_name,
        SERVICE.credential.account_key,
        resource_types=ResourceTypes(service=True),
        permission=AccountSasPermissions(list=True),
        expiry=in_an_hour(),
    )
    guest = QueueServiceClient(SERVICE.url, credential=token, retry_total=0)
    found = guest.list_queues(name_starts_with=queue.queue_name)
    assert [one.name for one in found] == [queue.queue_name]
    refused("AuthorizationResourceTypeMismatch", guest.get_queue_client("any").create_queue)


def test_service_properties_are_stored():
    rule = CorsRule(["https://example.com"], ["GET"], max_age_in_seconds=5)
    SERVICE.set_service_properties(cors=[rule])
    cors = SERVICE.get_service_properties()["cors"]
    assert [(one.allowed_origins, one.max_age_in_seconds) for one in cors] == [
        ("https://example.com", 5)
    ]


run_tests(globals())
