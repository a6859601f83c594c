# Data Lake Storage with azure.storage.filedatalake, the Python SDK, as packaged by Debian: years old, as in many real
# programs, like the x-ms-version that it sends. The account has a hierarchical namespace. Every function whose name begins
# with test_ is a test. Run by python.test.ts.
import sys
import uuid
from datetime import datetime, timedelta, timezone

from azure.core import MatchConditions
from azure.core.exceptions import (
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.storage.blob import BlobServiceClient
from azure.storage.filedatalake import (
    ContentSettings,
    DataLakeServiceClient,
    DirectorySasPermissions,
    FileSystemClient,
    generate_directory_sas,
)
from suite import refusal, run_tests

CONNECTION_STRING = sys.argv[1]
KIB = 1024
SERVICE = DataLakeServiceClient.from_connection_string(CONNECTION_STRING, retry_total=0)
BLOBS = BlobServiceClient.from_connection_string(CONNECTION_STRING, retry_total=0)
KEY = SERVICE.credential.account_key
# Different bytes in every piece, so that swapped pieces show, and an unaligned end.
BIG = b"".join(number.to_bytes(4, "big") for number in range(256 * KIB)) + b"end"
USER = "bbbbbbbb-0000-4000-8000-000000000000"

# The exceptions that programs catch.
ERRORS = {
    "PathNotFound": ResourceNotFoundError,
    "PathAlreadyExists": ResourceExistsError,
    "FilesystemAlreadyExists": ResourceExistsError,
    "ConditionNotMet": ResourceModifiedError,
}


refused = refusal(ERRORS)


def new_file_system():
    return SERVICE.create_file_system(f"python-{uuid.uuid4()}")


def new_file(fs, path, content=b"first"):
    file = fs.get_file_client(path)
    file.upload_data(content, overwrite=True)
    return file


def names(fs, **options):
    return [path.name for path in fs.get_paths(**options)]


def test_filesystems_are_created_listed_and_deleted():
    fs = new_file_system()
    fs.set_file_system_metadata({"a": "b"})
    assert fs.get_file_system_properties().metadata == {"a": "b"}
    assert fs.file_system_name in [each.name for each in SERVICE.list_file_systems()]
    fs.delete_file_system()
    assert not fs.exists()


def test_a_file_is_appended_to_flushed_and_read():
    file = new_file_system().create_file("dir/file")
    file.append_data(b"hello ", 0, 6)
    file.append_data(b"world", 6, 5)
    file.flush_data(11)
    assert file.download_file().readall() == b"hello world"
    assert file.download_file(offset=6, length=3).readall() == b"wor"
    refused("InvalidFlushPosition", file.flush_data, 20)


def test_a_big_upload_arrives_whole():
    fs = new_file_system()
    file = fs.get_file_client("big")
    file.upload_data(BIG, overwrite=True, chunk_size=64 * KIB)
    assert file.download_file().readall() == BIG
    assert BLOBS.get_blob_client(fs.file_system_name, "big").download_blob().readall() == BIG


def test_an_upload_without_overwrite_keeps_what_is_there():
    fs = new_file_system()
    file = new_file(fs, "x")
    refused("ConditionNotMet", file.upload_data, b"second")
    assert file.download_file().readall() == b"first"


def test_directories_are_renamed_and_deleted_with_what_they_have():
    fs = new_file_system()
    directory = fs.create_directory("d")
    new_file(fs, "d/sub/x")
    assert names(fs) == ["d", "d/sub", "d/sub/x"]
    assert names(fs, recursive=False) == ["d"]
    renamed = directory.rename_directory(f"{fs.file_system_name}/e")
    assert names(fs) == ["e", "e/sub", "e/sub/x"]
    renamed.delete_directory()
    assert names(fs) == []
    refused("PathNotFound", renamed.delete_directory)


def test_a_file_is_renamed():
    fs = new_file_system()
    file = new_file(fs, "one two")
    renamed = file.rename_file(f"{fs.file_system_name}/three & four")
    assert renamed.download_file().readall() == b"first"
    assert names(fs) == ["three & four"]


def test_conditions_and_leases_hold():
    fs = new_file_system()
    file = new_file(fs, "x")
    etag = file.get_file_properties().etag
    file.set_metadata({"a": "b"})
    stale = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
    refused("ConditionNotMet", file.set_metadata, {"a": "c"}, **stale)
    lease = file.acquire_lease(15)
    refused("LeaseIdMissing", file.delete_file)
    file.delete_file(lease=lease)
    assert not file.exists()


def test_properties_are_set():
    file = new_file(new_file_system(), "x")
    file.set_http_headers(ContentSettings(content_type="text/csv"))
    file.set_metadata({"one": "1"})
    properties = file.get_file_properties()
    assert properties.content_settings.content_type == "text/csv"
    assert properties.metadata == {"one": "1"}


def test_access_control_is_set_inherited_and_changed_recursively():
    fs = new_file_system()
    directory = fs.create_directory("d", permissions="rwxr-x---", umask="0000")
    assert directory.get_access_control()["permissions"] == "rwxr-x---"
    acl = f"user::rwx,group::r-x,other::---,default:user:{USER}:r--"
    directory.set_access_control(acl=acl)
    file = new_file(fs, "d/x")
    assert f"user:{USER}:r--" in file.get_access_control()["acl"]
    file.set_access_control(permissions="0600")
    assert file.get_access_control()["permissions"] == "rw-------+"
    changed = directory.update_access_control_recursive(f"user:{USER}:rwx", batch_size=1)
    assert changed.counters.directories_successful == 1
    assert changed.counters.files_successful == 1
    assert changed.continuation is None
    directory.remove_access_control_recursive(f"user:{USER}")
    assert f"user:{USER}" not in file.get_access_control()["acl"].replace("default:user", "")


def test_a_file_expires():
    file = new_file(new_file_system(), "x")
    file.set_file_expiry("RelativeToNow", expires_on=3_600_000)
    assert file.get_file_properties().expiry_time is not None


def test_a_directory_sas_opens_the_directory():
    fs = new_file_system()
    new_file(fs, "open/x")
    new_file(fs, "closed/y")
    sas = generate_directory_sas(
        SERVICE.account_name,
        fs.file_system_name,
        "open",
        KEY,
        permission=DirectorySasPermissions(read=True, list=True),
        expiry=datetime.now(timezone.utc) + timedelta(hours=1),
    )
    limited = FileSystemClient(SERVICE.url, fs.file_system_name, credential=sas, retry_total=0)
    assert limited.get_file_client("open/x").download_file().readall() == b"first"
    assert names(limited, path="open") == ["open/x"]
    refused("AuthenticationFailed", limited.get_file_client("closed/y").get_file_properties)


def test_what_one_endpoint_writes_the_other_reads():
    fs = new_file_system()
    blob = BLOBS.get_blob_client(fs.file_system_name, "a/b")
    blob.upload_blob(b"by blob")
    assert fs.get_file_client("a/b").download_file().readall() == b"by blob"
    assert names(fs) == ["a", "a/b"]
    new_file(fs, "c/d", b"by path")
    assert BLOBS.get_blob_client(fs.file_system_name, "c/d").download_blob().readall() == b"by path"


run_tests(dict(globals()))
