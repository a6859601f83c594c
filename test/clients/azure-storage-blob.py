# The Blob service with azure.storage.blob, the Python SDK, as packaged by Debian: years old, as in many real programs,
# like the x-ms-version that it sends. Every function whose name begins with test_ is a test. Run by python.test.ts.
import io
import sys
import uuid
from datetime import datetime, timedelta, timezone

from azure.core import MatchConditions
from azure.core.exceptions import (
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.storage.blob import (
    AccessPolicy,
    BlobBlock,
    BlobClient,
    BlobPrefix,
    BlobServiceClient,
    ContainerSasPermissions,
    ContentSettings,
    StandardBlobTier,
    generate_container_sas,
)
from suite import refusal, run_tests

CONNECTION_STRING = sys.argv[1]
KIB = 1024
# With small limits a body of 1 MiB is sent in sixteen blocks, two at a time.
SERVICE = BlobServiceClient.from_connection_string(
    CONNECTION_STRING,
    max_single_put_size=64 * KIB,
    max_block_size=64 * KIB,
    max_single_get_size=96 * KIB,
    max_chunk_get_size=96 * KIB,
    retry_total=0,
)
# Different bytes in every piece, so that swapped pieces show, and an unaligned end.
BIG = b"".join(number.to_bytes(4, "big") for number in range(256 * KIB)) + b"end"


def new_container():
    return SERVICE.create_container(f"python-{uuid.uuid4()}")


def new_blob(name="blob", **upload):
    blob = new_container().get_blob_client(name)
    blob.upload_blob(b"first", **upload)
    return blob


# The exceptions that programs catch.
ERRORS = {
    "BlobAlreadyExists": ResourceExistsError,
    "BlobNotFound": ResourceNotFoundError,
    "ConditionNotMet": ResourceModifiedError,
    "ContainerAlreadyExists": ResourceExistsError,
    "ContainerNotFound": ResourceNotFoundError,
}


refused = refusal(ERRORS)


def content(blob, *args, **kwargs):
    return blob.download_blob(*args, **kwargs).readall()


def test_container_is_created_once_has_metadata_and_is_deleted():
    container = SERVICE.create_container(f"python-{uuid.uuid4()}", metadata={"owner": "me"})
    refused("ContainerAlreadyExists", container.create_container)
    assert container.get_container_properties().metadata == {"owner": "me"}
    container.set_container_metadata({"owner": "you"})
    names = {c.name: c.metadata for c in SERVICE.list_containers(include_metadata=True)}
    assert names[container.container_name] == {"owner": "you"}
    container.delete_container()
    assert not container.exists()
    refused("ContainerNotFound", container.upload_blob, "blob", b"x")


def test_small_blob_keeps_bytes_metadata_and_content_settings():
    settings = ContentSettings(
        content_type="text/plain",
        content_encoding="identity",
        content_language="de",
        content_disposition="inline",
        cache_control="no-cache",
    )
    blob = new_blob("größe & mehr/a+b%20c.txt", metadata={"k": "v"}, content_settings=settings)
    found = blob.get_blob_properties()
    assert (found.name, found.size, found.blob_type) == (blob.blob_name, 5, "BlockBlob")
    assert found.metadata == {"k": "v"}
    for name in ("content_type", "content_encoding", "content_language", "content_disposition"):
        assert found.content_settings[name] == settings[name], name
    assert found.content_settings.cache_control == "no-cache"
    assert content(blob) == b"first"
    blob.set_blob_metadata({"other": "w"})
    blob.set_http_headers(ContentSettings(content_type="text/html"))
    found = blob.get_blob_properties()
    assert (found.metadata, found.content_settings.content_type) == ({"other": "w"}, "text/html")
    assert found.content_settings.cache_control is None


def test_empty_blob_is_downloaded():
    # The SDK requests a range, is refused with 416, and retries without one.
    blob = new_container().get_blob_client("empty")
    blob.upload_blob(b"")
    assert content(blob) == b""


def test_bytes_are_checked_by_md5_in_both_directions():
    blob = new_blob(validate_content=True)
    assert content(blob, validate_content=True) == b"first"
    blob.upload_blob(BIG, overwrite=True, validate_content=True)
    assert content(blob, validate_content=True) == BIG


def test_big_blob_is_uploaded_in_blocks_and_downloaded_in_ranges():
    blob = new_container().get_blob_client("big")
    blob.upload_blob(io.BytesIO(BIG), max_concurrency=2, metadata={"k": "v"})
    committed, uncommitted = blob.get_block_list("all")
    assert [block.size for block in committed] == [64 * KIB] * 16 + [3]
    assert uncommitted == []
    assert content(blob, max_concurrency=2) == BIG
    assert content(blob, offset=65_530, length=20) == BIG[65_530:65_550]
    assert blob.get_blob_properties().metadata == {"k": "v"}


def test_blob_of_unknown_length_is_uploaded():
    blob = new_container().get_blob_client("stream")
    blob.upload_blob(BIG[at : at + 10_000] for at in range(0, len(BIG), 10_000))
    assert content(blob) == BIG


def test_blocks_are_staged_listed_and_committed_in_any_order():
    blob = new_container().get_blob_client("blocks")
    for block_id in ("a", "b", "c"):
        blob.stage_block(block_id, block_id.encode() * 3)
    assert not blob.exists() and len(blob.get_block_list("uncommitted")[1]) == 3
    refused("InvalidBlockList", blob.commit_block_list, [BlobBlock("d")])
    blob.commit_block_list([BlobBlock("c"), BlobBlock("a")])
    assert content(blob) == b"cccaaa"
    assert [block.id for block in blob.get_block_list()[0]] == ["c", "a"]


def test_blobs_are_listed_in_order_by_page_prefix_and_folder():
    container = new_container()
    for name in ("b/2", "a", "b/c/3", "b/1", "z"):
        container.upload_blob(name, b"x", metadata={"name": name})
    assert list(container.list_blob_names()) == ["a", "b/1", "b/2", "b/c/3", "z"]
    pages = container.list_blobs(name_starts_with="b/", results_per_page=2).by_page()
    assert [[blob.name for blob in page] for page in pages] == [["b/1", "b/2"], ["b/c/3"]]
    walked = [(type(item) is BlobPrefix, item.name) for item in container.walk_blobs("b/")]
    assert sorted(walked) == [(False, "b/1"), (False, "b/2"), (True, "b/c/")]
    listed = container.list_blobs(include=["metadata"])
    assert [blob.metadata["name"] for blob in listed][0:2] == ["a", "b/1"]


def test_writes_can_be_conditional():
    blob = new_blob()
    refused("BlobAlreadyExists", blob.upload_blob, b"second")
    stale = blob.get_blob_properties().etag
    unchanged = {"etag": stale, "match_condition": MatchConditions.IfNotModified}
    blob.upload_blob(b"second", overwrite=True, **unchanged)
    refused("ConditionNotMet", blob.upload_blob, b"3", overwrite=True, **unchanged)
    refused("ConditionNotMet", blob.set_blob_metadata, {}, **unchanged)
    refused("ConditionNotMet", blob.delete_blob, **unchanged)
    assert content(blob) == b"second"
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    refused("ConditionNotMet", blob.delete_blob, if_modified_since=tomorrow)


def test_blob_lease_protects_from_writes_until_it_ends():
    blob = new_blob()
    lease = blob.acquire_lease(lease_duration=15)
    refused("LeaseAlreadyPresent", blob.acquire_lease, lease_duration=15)
    refused("LeaseIdMissing", blob.upload_blob, b"second", overwrite=True)
    refused("LeaseIdMissing", blob.delete_blob)
    other = str(uuid.uuid4())
    refused("LeaseIdMismatchWithBlobOperation", blob.set_blob_metadata, {}, lease=other)
    blob.upload_blob(b"second", overwrite=True, lease=lease)
    found = blob.get_blob_properties().lease
    assert (found.status, found.state, found.duration) == ("locked", "leased", "fixed")
    lease.renew()
    lease.change(other)
    assert lease.id == other
    assert lease.break_lease(lease_break_period=0) == 0
    assert blob.get_blob_properties().lease.state == "broken"
    refused("LeaseIsBrokenAndCannotBeRenewed", lease.renew)
    blob.upload_blob(b"third", overwrite=True)
    blob.acquire_lease().release()
    assert blob.get_blob_properties().lease.state == "available"
    blob.delete_blob()


def test_container_lease_prevents_deletion():
    container = new_container()
    lease = container.acquire_lease()
    refused("LeaseIdMissing", container.delete_container)
    container.upload_blob("free", b"a container's lease does not protect its blobs")
    assert container.get_container_properties().lease.duration == "infinite"
    container.delete_container(lease=lease)


def test_blob_is_copied_on_the_server():
    source = new_blob("source", metadata={"k": "v"})
    target = new_container().get_blob_client("target")
    copied = target.start_copy_from_url(source.url)
    assert copied["copy_status"] == "success"
    found = target.get_blob_properties()
    assert (found.copy.id, found.copy.progress) == (copied["copy_id"], "5/5")
    assert (content(target), found.metadata) == (b"first", {"k": "v"})
    source.upload_blob(b"second", overwrite=True)
    assert content(target) == b"first"


def test_blob_and_blocks_are_created_from_a_url():
    source = new_blob("source")
    sas = read_sas(source)
    target = new_container().get_blob_client("target")
    target.upload_blob_from_url(f"{source.url}?{sas}")
    assert content(target) == b"first"
    target.stage_block_from_url("1", f"{source.url}?{sas}", source_offset=1, source_length=3)
    target.commit_block_list([BlobBlock("1")])
    assert content(target) == b"irs"


def read_sas(blob):
    return generate_container_sas(
        blob.account_name,
        blob.container_name,
        account_key=SERVICE.credential.account_key,
        permission=ContainerSasPermissions(read=True),
        expiry=datetime.now(timezone.utc) + timedelta(hours=1),
    )


def test_sas_grants_its_permissions():
    blob = new_blob()
    guest = BlobClient.from_blob_url(f"{blob.url}?{read_sas(blob)}", retry_total=0)
    assert content(guest) == b"first"
    refused("AuthorizationPermissionMismatch", guest.delete_blob)


def test_stored_access_policy_is_returned():
    container = new_container()
    starts = datetime(2030, 1, 1, tzinfo=timezone.utc)
    policy = AccessPolicy(ContainerSasPermissions(read=True), starts + timedelta(days=1), starts)
    container.set_container_access_policy({"readers": policy}, public_access="blob")
    found = container.get_container_access_policy()
    assert (found["public_access"], found["signed_identifiers"][0].id) == ("blob", "readers")
    assert found["signed_identifiers"][0].access_policy.permission == "r"


def test_snapshot_keeps_the_content():
    blob = new_blob(metadata={"k": "v"})
    taken = blob.create_snapshot()["snapshot"]
    blob.upload_blob(b"second", overwrite=True)
    container = SERVICE.get_container_client(blob.container_name)
    snapshot = container.get_blob_client("blob", snapshot=taken)
    assert (content(snapshot), content(blob)) == (b"first", b"second")
    assert snapshot.get_blob_properties().metadata == {"k": "v"}
    listed = container.list_blobs(include=["snapshots"])
    assert [item.snapshot for item in listed] == [taken, None]
    refused("SnapshotsPresent", blob.delete_blob)
    blob.start_copy_from_url(snapshot.url)
    assert content(blob) == b"first"
    blob.delete_blob(delete_snapshots="only")
    assert blob.exists()
    blob.create_snapshot()
    blob.delete_blob(delete_snapshots="include")
    assert list(container.list_blobs(include=["snapshots"])) == []


def test_append_blob_grows():
    blob = new_container().get_blob_client("log")
    blob.create_append_blob(metadata={"k": "v"})
    blob.append_block(b"one,")
    appended = blob.append_block(b"two,", appendpos_condition=4)
    assert (appended["blob_append_offset"], appended["blob_committed_block_count"]) == ("4", 2)
    refused("AppendPositionConditionNotMet", blob.append_block, b"x", appendpos_condition=4)
    refused("MaxBlobSizeConditionNotMet", blob.append_block, b"x", maxsize_condition=8)
    # Without overwrite, uploading to an append blob appends.
    blob.upload_blob(b"three", blob_type="AppendBlob")
    assert content(blob) == b"one,two,three"
    refused("InvalidBlobType", blob.stage_block, "1", b"x")
    blob.seal_append_blob()
    refused("BlobIsSealed", blob.append_block, b"x")


def test_page_blob_is_written_and_cleared_in_pages():
    blob = new_container().get_blob_client("disk")
    blob.create_page_blob(4 * KIB, sequence_number=7)
    blob.upload_page(b"p" * 1024, offset=512, length=1024)
    blob.clear_page(offset=1024, length=512)
    assert content(blob) == bytes(512) + b"p" * 512 + bytes(3072)
    assert blob.get_page_ranges() == ([{"start": 512, "end": 1023}], [])
    taken = blob.create_snapshot()
    blob.upload_page(b"q" * 512, offset=2048, length=512)
    blob.clear_page(offset=512, length=512)
    changed = blob.get_page_ranges(previous_snapshot_diff=taken)
    assert changed == ([{"start": 2048, "end": 2559}], [{"start": 512, "end": 1023}])
    blob.set_sequence_number("increment")
    assert blob.get_blob_properties().page_blob_sequence_number == 8
    page = {"offset": 0, "length": 512, "if_sequence_number_lt": 8}
    refused("SequenceNumberConditionNotMet", blob.upload_page, b"r" * 512, **page)
    blob.resize_blob(1024)
    assert blob.get_blob_properties().size == 1024
    disk = SERVICE.get_blob_client(blob.container_name, "whole")
    disk.upload_blob(BIG[: 128 * KIB] + bytes(64 * KIB), blob_type="PageBlob")
    assert content(disk) == BIG[: 128 * KIB] + bytes(64 * KIB)


def test_tags_are_stored_and_found():
    blob = new_blob(tags={"project": "lazuli", "stage": "1"})
    mark = str(uuid.uuid4())
    blob.set_blob_tags({"mark": mark, "odd key": "a+b/c=d:e_f.g-h"})
    assert blob.get_blob_tags() == {"mark": mark, "odd key": "a+b/c=d:e_f.g-h"}
    assert blob.get_blob_properties().tag_count == 2
    found = list(SERVICE.find_blobs_by_tags(f"\"mark\"='{mark}'"))
    assert [(item.container_name, item.name) for item in found] == [(blob.container_name, "blob")]
    assert found[0].tags == {"mark": mark}
    listed = SERVICE.get_container_client(blob.container_name).list_blobs(include=["tags"])
    assert next(listed).tags["mark"] == mark
    wrong = {"if_tags_match_condition": "\"mark\"='other'"}
    refused("ConditionNotMet", blob.delete_blob, **wrong)


def test_tier_is_set():
    blob = new_blob(standard_blob_tier=StandardBlobTier.COOL)
    assert blob.get_blob_properties().blob_tier == "Cool"
    blob.set_standard_blob_tier("Archive")
    assert blob.get_blob_properties().blob_tier == "Archive"
    refused("BlobArchived", content, blob)


def test_batch_deletes_and_sets_tiers_and_reports_failures():
    # The SDK leaves the account out of the parts even if it is in the path: "DELETE /box/one?".
    # https://github.com/Azure/Azurite/issues/1809
    container = new_container()
    names = ["one", "two & more", "drei/ü"]
    for name in names:
        container.upload_blob(name, b"x")
    answers = container.set_standard_blob_tier_blobs("Cool", *names)
    assert [answer.status_code for answer in answers] == [200] * 3
    answers = container.delete_blobs(*names, "missing", raise_on_any_failure=False)
    assert [answer.status_code for answer in answers] == [202] * 3 + [404]
    assert list(container.list_blobs()) == []


def test_service_properties_and_account():
    assert SERVICE.get_account_information()["account_kind"] == "StorageV2"
    assert SERVICE.get_service_properties()["cors"] is not None


def test_missing_blob_is_reported():
    blob = new_container().get_blob_client("missing")
    assert not blob.exists()
    for call in (blob.get_blob_properties, blob.download_blob, blob.delete_blob):
        refused("BlobNotFound", call)


run_tests(globals())
