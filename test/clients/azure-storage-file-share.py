# The File service with azure.storage.fileshare, the Python SDK, as packaged by Debian: years old, as in many real
# programs, like the x-ms-version that it sends. Every function whose name begins with test_ is a test. Run by
# python.test.ts.
import io
import sys
import uuid
from datetime import datetime, timedelta, timezone

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.storage.fileshare import (
    AccessPolicy,
    AccountSasPermissions,
    ContentSettings,
    CorsRule,
    FileSasPermissions,
    NTFSAttributes,
    ResourceTypes,
    ShareClient,
    ShareFileClient,
    ShareSasPermissions,
    ShareServiceClient,
    generate_account_sas,
    generate_file_sas,
    generate_share_sas,
)
from suite import refusal, run_tests

CONNECTION_STRING = sys.argv[1]
KIB = 1024
# With small limits a file of 1 MiB is sent in sixteen ranges, two at a time.
SERVICE = ShareServiceClient.from_connection_string(
    CONNECTION_STRING,
    max_range_size=64 * KIB,
    max_single_get_size=96 * KIB,
    max_chunk_get_size=96 * KIB,
    retry_total=0,
)
KEY = SERVICE.credential.account_key
# Different bytes in every piece, so that swapped pieces show, and an unaligned end.
BIG = b"".join(number.to_bytes(4, "big") for number in range(256 * KIB)) + b"end"
SDDL = "O:SYG:SYD:(A;;FA;;;SY)"

# The exceptions that programs catch.
ERRORS = {
    "ParentNotFound": ResourceNotFoundError,
    "ResourceAlreadyExists": ResourceExistsError,
    "ResourceNotFound": ResourceNotFoundError,
    "ShareAlreadyExists": ResourceExistsError,
    "ShareNotFound": ResourceNotFoundError,
}


refused = refusal(ERRORS)


def new_share(**create):
    return SERVICE.create_share(f"python-{uuid.uuid4()}", **create)


def new_file(name="file", content=b"first", **upload):
    file = new_share().get_file_client(name)
    file.upload_file(content, **upload)
    return file


def content(file, *args, **kwargs):
    return file.download_file(*args, **kwargs).readall()


def names(items):
    return [(item["name"], item["is_directory"]) for item in items]


def in_an_hour():
    return datetime.now(timezone.utc) + timedelta(hours=1)


def test_share_is_created_once_has_settings_and_is_deleted():
    share = new_share(metadata={"owner": "me"}, quota=7, access_tier="Hot")
    refused("ShareAlreadyExists", share.create_share)
    found = share.get_share_properties()
    assert (found.metadata, found.quota, found.access_tier) == ({"owner": "me"}, 7, "Hot")
    share.set_share_metadata({"owner": "you"})
    share.set_share_quota(9)
    share.set_share_properties(access_tier="Cool")
    found = share.get_share_properties()
    assert (found.metadata, found.quota, found.access_tier) == ({"owner": "you"}, 9, "Cool")
    share.delete_share()
    refused("ShareNotFound", share.get_share_properties)
    refused("ShareNotFound", share.get_file_client("x").create_file, 1)


def test_shares_are_listed_with_snapshots_and_metadata():
    share = new_share(metadata={"a": "1"})
    snapshot = share.create_snapshot(metadata={"b": "2"})["snapshot"]
    prefix = share.share_name
    found = list(SERVICE.list_shares(prefix, include_metadata=True, include_snapshots=True))
    assert [(one.name, one.snapshot, one.metadata) for one in found] == [
        (prefix, snapshot, {"b": "2"}),
        (prefix, None, {"a": "1"}),
    ]
    pages = SERVICE.list_shares(prefix, results_per_page=1).by_page()
    assert [[one.name for one in page] for page in pages] == [[prefix]]


def test_snapshot_keeps_the_content_of_the_share():
    share = new_share()
    file = share.get_file_client("file")
    file.upload_file(b"first")
    snapshot = share.create_snapshot()["snapshot"]
    file.upload_file(b"second, longer")
    share.get_file_client("later").upload_file(b"x")
    past = SERVICE.get_share_client(share.share_name, snapshot=snapshot)
    assert names(past.list_directories_and_files()) == [("file", False)]
    assert content(past.get_file_client("file")) == b"first"
    assert content(file) == b"second, longer"
    refused("InvalidQueryParameterValue", past.get_file_client("file").delete_file)
    refused("ShareHasSnapshots", share.delete_share)
    past.delete_share()
    share.delete_share(delete_snapshots=True)


def test_stats_count_the_length_of_files():
    share = new_share()
    share.get_file_client("file").create_file(3 * KIB * KIB * KIB)
    assert share.get_share_stats() == 3 * KIB * KIB * KIB


def test_changes_to_a_leased_share_need_the_lease_id():
    share = new_share()
    lease = share.acquire_lease()
    refused("LeaseIdMissing", share.set_share_metadata, {"a": "1"})
    share.set_share_metadata({"a": "1"}, lease=lease)
    lease.renew()
    lease.change(str(uuid.uuid4()))
    refused("LeaseIdMissing", share.delete_share)
    assert lease.break_lease(lease_break_period=0) == 0
    lease = share.acquire_lease()
    lease.release()
    share.delete_share()


def test_permissions_are_found_by_their_key():
    share = new_share()
    key = share.create_permission_for_share(SDDL)
    # The service returns that there is no system ACL.
    assert share.get_permission_for_share(key) == f"{SDDL}S:NO_ACCESS_CONTROL"
    file = share.get_file_client("file")
    file.create_file(1, permission_key=key)
    assert file.get_file_properties().permission_key == key
    refused("FileInvalidPermissionKey", share.get_permission_for_share, "1*2")


def test_directories_are_created_one_level_at_a_time():
    share = new_share()
    refused("ParentNotFound", share.create_directory, "a/b")
    top = share.create_directory("a", metadata={"k": "v"})
    refused("ResourceAlreadyExists", share.create_directory, "A")
    inner = top.create_subdirectory("b")
    top.upload_file("größe & co.txt", b"x")
    assert names(top.list_directories_and_files()) == [("b", True), ("größe & co.txt", False)]
    assert names(top.list_directories_and_files(name_starts_with="GR")) == [
        ("größe & co.txt", False)
    ]
    assert (top.exists(), top.get_subdirectory_client("none").exists()) == (True, False)
    refused("DirectoryNotEmpty", top.delete_directory)
    inner.delete_directory()
    top.delete_file("größe & co.txt")
    top.set_directory_metadata({"m": "w"})
    found = top.get_directory_properties()
    assert (found.metadata, found.is_directory) == ({"m": "w"}, True)
    top.set_http_headers(file_attributes="Hidden", file_creation_time="preserve")
    assert "Hidden" in str(top.get_directory_properties().file_attributes)
    share.delete_directory("a")
    refused("ResourceNotFound", top.get_directory_properties)


def test_list_is_split_into_pages_with_the_included_properties():
    share = new_share()
    for number in range(5):
        share.get_file_client(f"f{number}").create_file(number)
    pages = share.list_directories_and_files(results_per_page=2).by_page()
    assert [[item["name"] for item in page] for page in pages] == [["f0", "f1"], ["f2", "f3"], ["f4"]]
    include = ["timestamps", "Etag", "Attributes", "PermissionKey"]
    root = share.get_directory_client()
    first = next(iter(root.list_directories_and_files(include=include, include_extended_info=True)))
    made = share.get_file_client("f0").get_file_properties()
    assert (first.file_id, first.etag, first.size) == (made.file_id, made.etag, 0)
    assert first.permission_key == made.permission_key
    assert str(first.file_attributes) == str(made.file_attributes)
    assert first.last_write_time is not None


def test_file_keeps_bytes_and_settings():
    settings = ContentSettings("text/plain", content_language="de", cache_control="no-cache")
    file = new_file(content="grüße".encode(), metadata={"k": "v"}, content_settings=settings)
    found = file.get_file_properties()
    assert (found.size, found.metadata) == (7, {"k": "v"})
    assert found.content_settings.content_type == "text/plain"
    assert found.content_settings.content_language == "de"
    assert file.download_file(encoding="utf-8").readall() == "grüße"
    file.set_http_headers(ContentSettings("text/html"))
    found = file.get_file_properties()
    assert found.content_settings.content_type == "text/html"
    assert found.content_settings.content_language is None
    file.set_file_metadata({"m": "w"})
    assert file.get_file_properties().metadata == {"m": "w"}


def test_big_file_is_transferred_in_ranges():
    file = new_file("big", io.BytesIO(BIG), length=len(BIG), max_concurrency=2)
    assert content(file, max_concurrency=2) == BIG
    assert content(file, offset=65_000, length=70_000) == BIG[65_000:135_000]
    assert b"".join(file.download_file().chunks()) == BIG
    target = io.BytesIO()
    assert file.download_file(validate_content=True).readinto(target) == len(BIG)


def test_ranges_are_written_cleared_and_listed():
    file = new_share().get_file_client("file")
    file.create_file(4 * KIB)
    file.upload_range(b"a" * KIB, offset=0, length=KIB, validate_content=True)
    file.upload_range(b"b" * KIB, offset=2 * KIB, length=KIB)
    assert file.get_ranges() == [{"start": 0, "end": 1023}, {"start": 2048, "end": 3071}]
    file.clear_range(offset=0, length=512)
    assert file.get_ranges() == [{"start": 512, "end": 1023}, {"start": 2048, "end": 3071}]
    assert content(file, offset=510, length=4) == b"\0\0aa"
    refused("InvalidRange", file.upload_range, b"x", offset=4 * KIB, length=1)
    file.resize_file(600)
    assert (file.get_file_properties().size, len(content(file))) == (600, 600)


def test_ranges_that_differ_from_a_snapshot():
    share = new_share()
    file = share.get_file_client("file")
    file.upload_file(b"x" * 4 * KIB)
    snapshot = share.create_snapshot()
    file.upload_range(b"y" * 512, offset=1024, length=512)
    file.clear_range(offset=2048, length=512)
    ranges, cleared = file.get_ranges_diff(previous_sharesnapshot=snapshot)
    assert (ranges, cleared) == ([{"start": 1024, "end": 1535}], [{"start": 2048, "end": 2559}])


def test_range_from_another_file():
    share = new_share()
    source = share.get_file_client("source")
    source.upload_file(b"0123456789")
    token = sas_of(source, permission=FileSasPermissions(read=True), expiry=in_an_hour())
    file = share.get_file_client("file")
    file.create_file(5)
    file.upload_range_from_url(f"{source.url}?{token}", offset=1, length=3, source_offset=4)
    assert content(file) == b"\x00456\x00"


def test_attributes_and_times_are_stored():
    # This version does not write time zones.
    when = datetime(2020, 2, 3, 4, 5, 6, 789)
    share = new_share()
    file = share.get_file_client("file")
    attributes = NTFSAttributes(read_only=True, hidden=True)
    file.create_file(1, file_attributes=attributes, file_creation_time=when, file_last_write_time=when)
    found = file.get_file_properties()
    assert found.creation_time.strftime("%Y-%m-%dT%H:%M:%S") == "2020-02-03T04:05:06"
    assert {"ReadOnly", "Hidden"} <= set(found.file_attributes.replace(" ", "").split("|"))
    refused("ReadOnlyAttribute", file.upload_range, b"x", offset=0, length=1)
    refused("ReadOnlyAttribute", file.delete_file)


def test_rename_keeps_the_file():
    share = new_share()
    share.create_directory("d")
    file = share.get_file_client("file")
    file.upload_file(b"first")
    known = file.get_file_properties().file_id
    moved = file.rename_file("d/moved")
    assert (content(moved), moved.get_file_properties().file_id) == (b"first", known)
    refused("ResourceNotFound", file.get_file_properties)
    other = share.get_file_client("other")
    other.upload_file(b"other")
    refused("ResourceAlreadyExists", other.rename_file, "d/moved")
    other.rename_file("d/moved", overwrite=True)
    assert content(moved) == b"other"
    directory = share.get_directory_client("d").rename_directory("e")
    assert names(directory.list_directories_and_files()) == [("moved", False)]


def test_copy_of_a_file():
    share = new_share()
    source = share.get_file_client("source")
    source.upload_file(BIG, metadata={"k": "v"})
    copy = share.get_file_client("copy")
    started = copy.start_copy_from_url(source.url)
    assert started["copy_status"] == "success", started
    found = copy.get_file_properties()
    assert (found.copy.status, found.metadata, found.size) == ("success", {"k": "v"}, len(BIG))
    assert content(copy) == BIG
    refused("NoPendingCopyOperation", copy.abort_copy, started["copy_id"])
    missing = share.get_file_client("missing").url
    refused("CannotVerifyCopySource", copy.start_copy_from_url, missing)


def test_writes_to_a_leased_file_need_the_lease_id():
    file = new_file()
    lease = file.acquire_lease()
    refused("LeaseAlreadyPresent", file.acquire_lease)
    refused("LeaseIdMissing", file.upload_range, b"x", offset=0, length=1)
    file.upload_range(b"x", offset=0, length=1, lease=lease)
    assert content(file) == b"xirst"
    lease.change(str(uuid.uuid4()))
    lease.release()
    file.acquire_lease().break_lease()
    file.delete_file()


def test_file_without_handles_lists_none():
    share = new_share()
    root = share.get_directory_client()
    file = share.get_file_client("file")
    file.upload_file(b"x")
    assert list(root.list_handles(recursive=True)) == []
    assert list(file.list_handles()) == []
    none = {"closed_handles_count": 0, "failed_handles_count": 0}
    assert root.close_all_handles(recursive=True) == none
    assert file.close_all_handles() == none
    assert file.close_handle("1") == none


def sas_of(file, **sas):
    path = file.file_path if isinstance(file.file_path, list) else file.file_path.split("/")
    return generate_file_sas(file.account_name, file.share_name, path, KEY, **sas)


def test_file_sas_grants_its_permissions():
    file = new_file("d.txt")
    token = sas_of(file, permission=FileSasPermissions(read=True), expiry=in_an_hour())
    # from_file_url does not support an account in the path.
    guest = ShareFileClient(SERVICE.url, file.share_name, "d.txt", credential=token, retry_total=0)
    assert content(guest) == b"first"
    refused("AuthorizationPermissionMismatch", guest.delete_file)
    other = ShareFileClient(SERVICE.url, file.share_name, "other", credential=token, retry_total=0)
    refused("AuthenticationFailed", other.get_file_properties)


def test_share_sas_and_stored_policy():
    share = new_share()
    policy = AccessPolicy(ShareSasPermissions(read=True, list=True), in_an_hour(), None)
    share.set_share_access_policy({"readers": policy})
    assert share.get_share_access_policy()["signed_identifiers"][0].id == "readers"
    share.get_file_client("file").upload_file(b"x")
    token = generate_share_sas(share.account_name, share.share_name, KEY, policy_id="readers")
    guest = ShareClient.from_share_url(f"{share.url}?{token}", retry_total=0)
    assert names(guest.list_directories_and_files()) == [("file", False)]
    assert content(guest.get_file_client("file")) == b"x"
    refused("AuthorizationPermissionMismatch", guest.get_file_client("new").create_file, 1)
    share.set_share_access_policy({})
    refused("AuthenticationFailed", guest.get_file_client("file").get_file_properties)


def test_account_sas_lists_shares():
    share = new_share()
    token = generate_account_sas(
        SERVICE.account_name,
        KEY,
        resource_types=ResourceTypes(service=True),
        permission=AccountSasPermissions(list=True),
        expiry=in_an_hour(),
    )
    guest = ShareServiceClient(SERVICE.url, credential=token, retry_total=0)
    assert [one.name for one in guest.list_shares(share.share_name)] == [share.share_name]
    refused("AuthorizationResourceTypeMismatch", guest.create_share, "python-other")


def test_service_properties_are_stored():
    rule = CorsRule(["https://example.com"], ["GET"], max_age_in_seconds=5)
    SERVICE.set_service_properties(cors=[rule])
    cors = SERVICE.get_service_properties()["cors"]
    assert [(one.allowed_origins, one.max_age_in_seconds) for one in cors] == [
        ("https://example.com", 5)
    ]


run_tests(globals())
