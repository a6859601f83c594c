# The Table service with azure.data.tables, the Python SDK, as packaged by Debian. Every function whose name begins with
# test_ is a test. Run by python.test.ts.
import sys
import uuid
from datetime import datetime, timedelta, timezone

from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import (
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.data.tables import (
    EdmType,
    EntityProperty,
    RequestTooLargeError,
    ResourceTypes,
    AccountSasPermissions,
    TableAccessPolicy,
    TableClient,
    TableCorsRule,
    TableSasPermissions,
    TableServiceClient,
    TableTransactionError,
    UpdateMode,
    generate_account_sas,
    generate_table_sas,
)
from suite import refusal, run_tests

CONNECTION_STRING = sys.argv[1]
SERVICE = TableServiceClient.from_connection_string(CONNECTION_STRING, retry_total=0)
SETTINGS = dict(part.split("=", 1) for part in CONNECTION_STRING.split(";") if part)
CREDENTIAL = AzureNamedKeyCredential(SETTINGS["AccountName"], SETTINGS["AccountKey"])
ENDPOINT = SETTINGS["TableEndpoint"]
EXPIRY = datetime.now(timezone.utc) + timedelta(hours=1)

# The exceptions that programs catch.
ERRORS = {
    "EntityAlreadyExists": ResourceExistsError,
    "ResourceNotFound": ResourceNotFoundError,
    "TableAlreadyExists": ResourceExistsError,
    "TableNotFound": ResourceNotFoundError,
    "UpdateConditionNotSatisfied": ResourceModifiedError,
}


def new_name():
    return f"Python{uuid.uuid4().hex}"


def new_table():
    return SERVICE.create_table(new_name())


def entity(row_key, **properties):
    return {"PartitionKey": "p", "RowKey": row_key, **properties}


refused = refusal(ERRORS)


def values(table, row_key):
    found = table.get_entity("p", row_key)
    return {name: found[name] for name in found if name not in ("PartitionKey", "RowKey")}


def row_keys(entities):
    return [found["RowKey"] for found in entities]


def test_table_is_created_once_listed_and_deleted():
    table = new_table()
    refused("TableAlreadyExists", table.create_table)
    SERVICE.create_table_if_not_exists(table.table_name)
    assert table.table_name in [item.name for item in SERVICE.list_tables()]
    named = SERVICE.query_tables("TableName eq @name", parameters={"name": table.table_name})
    assert [item.name for item in named] == [table.table_name]
    table.delete_table()
    assert table.table_name not in [item.name for item in SERVICE.list_tables()]
    refused("TableNotFound", table.create_entity, entity("a"))
    # The SDK treats it as a success.
    table.delete_table()


def test_tables_are_listed_by_page():
    start = new_name()
    names = [f"{start}{letter}" for letter in "abc"]
    for name in names:
        SERVICE.create_table(name)
    query = {"start": start, "end": f"{start}z"}
    where = "TableName ge @start and TableName lt @end"
    pages = SERVICE.query_tables(where, parameters=query, results_per_page=2).by_page()
    assert [[item.name for item in page] for page in pages] == [names[:2], names[2:]]


def test_entity_is_created_once_and_deleted():
    table = new_table()
    created = table.create_entity(entity("a", x=1))
    found = table.get_entity("p", "a")
    assert (found["x"], found.metadata["etag"]) == (1, created["etag"])
    assert abs(found.metadata["timestamp"] - datetime.now(timezone.utc)) < timedelta(minutes=5)
    refused("EntityAlreadyExists", table.create_entity, entity("a"))
    table.delete_entity("p", "a")
    refused("ResourceNotFound", table.get_entity, "p", "a")
    refused("ResourceNotFound", table.update_entity, entity("a"))
    # The SDK treats it as a success.
    table.delete_entity("p", "a")


def test_entity_is_merged_replaced_and_upserted():
    table = new_table()
    table.upsert_entity(entity("a", x=1))
    table.update_entity(entity("a", y=2), mode=UpdateMode.MERGE)
    assert values(table, "a") == {"x": 1, "y": 2}
    table.update_entity(entity("a", y="3"), mode=UpdateMode.REPLACE)
    assert values(table, "a") == {"y": "3"}
    table.upsert_entity(entity("a", z=4), mode=UpdateMode.MERGE)
    assert values(table, "a") == {"y": "3", "z": 4}
    table.upsert_entity(entity("a", z=5), mode=UpdateMode.REPLACE)
    assert values(table, "a") == {"z": 5}


def test_stale_etag_is_refused():
    table = new_table()
    stale = table.create_entity(entity("a", x=1))["etag"]
    fresh = table.update_entity(entity("a", x=2))["etag"]
    old = {"etag": stale, "match_condition": MatchConditions.IfNotModified}
    new = {"etag": fresh, "match_condition": MatchConditions.IfNotModified}
    for mode in UpdateMode:
        refused(
            "UpdateConditionNotSatisfied", table.update_entity, entity("a"), mode=mode, **old
        )
    refused("UpdateConditionNotSatisfied", table.delete_entity, "p", "a", **old)
    assert values(table, "a") == {"x": 2}
    table.delete_entity("p", "a", **new)


def test_values_of_every_type_are_returned():
    table = new_table()
    moment = datetime(2020, 2, 29, 12, 34, 56, 789012, tzinfo=timezone.utc)
    put = {
        "text": "grüße \U0001f30d",
        "empty": "",
        "int32": -(2**31),
        "int64": EntityProperty(2**63 - 1, EdmType.INT64),
        "double": 1.5,
        "whole": 5.0,
        "infinite": float("inf"),
        "yes": True,
        "time": moment,
        "guid": uuid.UUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
        "binary": b"\x00\xff\x01",
    }
    table.create_entity(entity("a", **put))
    found = values(table, "a")
    for name, value in put.items():
        assert found[name] == value, (name, found[name])
    assert type(found["whole"]) is float and type(found["yes"]) is bool
    assert found["int64"].edm_type == EdmType.INT64


def test_keys_can_have_any_characters():
    table = new_table()
    for row_key in ("größe & 'mehr'", "a+b%20c", "", "  ", "a=b,c(d)"):
        table.create_entity(entity(row_key, x=1))
        table.update_entity(entity(row_key, y=2))
        assert values(table, row_key) == {"x": 1, "y": 2}, row_key
        table.delete_entity("p", row_key)


def test_query_filters_selects_and_pages():
    table = new_table()
    day = datetime(2020, 1, 1, tzinfo=timezone.utc)
    for n in range(5):
        more = {"guid": uuid.UUID(int=n), "time": day + timedelta(days=n), "even": n % 2 == 0}
        table.create_entity(entity(str(n), n=n, text=f"it's {n}", half=n / 2, **more))
    queries = [
        ("PartitionKey eq 'p' and RowKey ge @a and RowKey lt @b", {"a": "1", "b": "3"}, "12"),
        ("n gt @n", {"n": 2}, "34"),
        # The SDK needs spaces around its parameters.
        ("not (n lt @n ) or text eq @text", {"n": 4, "text": "it's 1"}, "14"),
        ("half eq @half", {"half": 1.5}, "3"),
        ("even eq @even", {"even": False}, "13"),
        ("time lt @time", {"time": day + timedelta(days=2)}, "01"),
        ("guid eq @guid", {"guid": uuid.UUID(int=3)}, "3"),
    ]
    for where, parameters, expected in queries:
        found = table.query_entities(where, parameters=parameters)
        assert row_keys(found) == list(expected), where
    pages = table.list_entities(results_per_page=2).by_page()
    assert [row_keys(page) for page in pages] == [["0", "1"], ["2", "3"], ["4"]]
    selected = table.list_entities(select=["n", "text"])
    assert dict(next(selected)) == {"n": 0, "text": "it's 0"}


def test_invalid_query_is_refused():
    refused("InvalidInput", list, new_table().query_entities("n gt"))


def test_transaction_runs_all_operations():
    table = new_table()
    for row_key in "bcde":
        table.create_entity(entity(row_key, x=1))
    answers = table.submit_transaction(
        [
            ("create", entity("a", y=2)),
            ("update", entity("b", y=2), {"mode": "replace"}),
            ("update", entity("c", y=2), {"mode": "merge"}),
            ("upsert", entity("d", y=2), {"mode": "merge"}),
            ("delete", entity("e")),
            ("upsert", entity("f", y=2)),
        ]
    )
    assert len(answers) == 6 and answers[0]["etag"] == table.get_entity("p", "a").metadata["etag"]
    found = {row_key: values(table, row_key) for row_key in row_keys(table.list_entities())}
    one, both = {"y": 2}, {"x": 1, "y": 2}
    assert found == {"a": one, "b": one, "c": both, "d": both, "f": one}


def test_transaction_changes_nothing_if_one_part_is_refused():
    table = new_table()
    table.create_entity(entity("b"))
    failure = transaction_refused(table, "EntityAlreadyExists", "abc")
    assert failure.index == 1
    assert row_keys(table.list_entities()) == ["b"]


def transaction_refused(table, code, letters):
    try:
        table.submit_transaction([("create", entity(letter)) for letter in letters])
    except TableTransactionError as failure:
        assert failure.error_code == code, failure.error_code
        return failure
    raise AssertionError(f"not refused with {code}")


def test_transaction_is_limited_to_a_hundred_parts():
    table = new_table()
    parts = [("create", entity(f"{n:03}", text="x" * 1000)) for n in range(101)]
    assert len(table.submit_transaction(parts[:100])) == 100
    try:
        table.submit_transaction([("upsert", part) for _, part in parts])
    except TableTransactionError as failure:
        assert failure.status_code == 400, failure.status_code
        assert len(list(table.list_entities())) == 100
        return
    raise AssertionError("not refused")


def test_transaction_that_is_too_large_is_refused():
    table = new_table()
    parts = [("create", entity(f"{n:03}", **big())) for n in range(10)]
    try:
        table.submit_transaction(parts)
    except RequestTooLargeError:
        return
    raise AssertionError("not refused")


def big():
    return {f"text{n}": "x" * 32_000 for n in range(15)}


def guest(table, sas):
    name = table.table_name
    return TableClient(ENDPOINT, name, credential=AzureSasCredential(sas), retry_total=0)


def test_sas_grants_its_permissions():
    table = new_table()
    for row_key in "abcd":
        table.create_entity(entity(row_key))
    sas = generate_table_sas(
        CREDENTIAL,
        table.table_name,
        permission=TableSasPermissions(read=True),
        expiry=EXPIRY,
        start_pk="p",
        start_rk="b",
        end_pk="p",
        end_rk="c",
    )
    reader = guest(table, sas)
    assert row_keys(reader.list_entities()) == ["b", "c"]
    refused("AuthorizationPermissionMismatch", reader.create_entity, entity("bb"))


def test_sas_with_a_stored_policy():
    table = new_table()
    table.create_entity(entity("a"))
    policy = TableAccessPolicy(start=None, expiry=EXPIRY, permission="r")
    table.set_table_access_policy({"readers": policy})
    found = table.get_table_access_policy()
    assert found["readers"].permission == "r"
    sas = generate_table_sas(CREDENTIAL, table.table_name, policy_id="readers")
    assert row_keys(guest(table, sas).list_entities()) == ["a"]
    table.set_table_access_policy({})
    refused("AuthenticationFailed", list, guest(table, sas).list_entities())


def test_account_sas():
    sas = generate_account_sas(
        CREDENTIAL,
        ResourceTypes.from_string("sco"),
        AccountSasPermissions.from_string("rwdlacu"),
        EXPIRY,
    )
    service = TableServiceClient(ENDPOINT, credential=AzureSasCredential(sas), retry_total=0)
    table = service.create_table(new_name())
    table.submit_transaction([("upsert", entity("a")), ("upsert", entity("b"))])
    assert row_keys(table.list_entities()) == ["a", "b"]
    service.delete_table(table.table_name)


def test_service_properties():
    rule = TableCorsRule(["https://example.com"], ["GET"], max_age_in_seconds=60)
    SERVICE.set_service_properties(cors=[rule])
    found = SERVICE.get_service_properties()["cors"]
    assert [item.max_age_in_seconds for item in found] == [60]


run_tests(globals())
