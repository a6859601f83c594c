# File shares with libsmbclient (smbc) and impacket. Arguments: the port, the account, its key, a share.
import io
import os
import sys

from suite import run_tests

PORT, ACCOUNT, KEY, SHARE = sys.argv[1:5]
BYTES = os.urandom(200_000)


def smbc_context():
    import smbc

    context = smbc.Context(auth_fn=lambda server, share, group, user, password: ("WORKGROUP", ACCOUNT, KEY))
    context.port = int(PORT)
    return context


def test_smbc_reads_what_it_has_written():
    context, root = smbc_context(), f"smb://127.0.0.1:{PORT}/{SHARE}"
    context.mkdir(f"{root}/smbc", 0o755)
    file = context.open(f"{root}/smbc/a.bin", os.O_CREAT | os.O_WRONLY)
    file.write(BYTES)
    file.close()
    assert [entry.name for entry in context.opendir(f"{root}/smbc").getdents()] == [".", "..", "a.bin"]
    assert context.stat(f"{root}/smbc/a.bin")[6] == len(BYTES)
    assert context.open(f"{root}/smbc/a.bin", os.O_RDONLY).read(len(BYTES)) == BYTES
    context.rename(f"{root}/smbc/a.bin", f"{root}/smbc/b.bin")
    context.unlink(f"{root}/smbc/b.bin")
    context.rmdir(f"{root}/smbc")


def impacket_connection(dialect):
    from impacket.smbconnection import SMBConnection

    connection = SMBConnection("127.0.0.1", "127.0.0.1", sess_port=int(PORT), preferredDialect=dialect)
    connection.login(ACCOUNT, KEY)
    return connection


def impacket_round(dialect):
    connection = impacket_connection(dialect)
    assert SHARE in [share["shi1_netname"][:-1] for share in connection.listShares()]
    connection.createDirectory(SHARE, "impacket")
    connection.putFile(SHARE, "impacket/a.bin", io.BytesIO(BYTES).read)
    got = io.BytesIO()
    connection.getFile(SHARE, "impacket/a.bin", got.write)
    assert got.getvalue() == BYTES
    assert "a.bin" in [entry.get_longname() for entry in connection.listPath(SHARE, "impacket/*")]
    connection.rename(SHARE, "impacket/a.bin", "impacket/b.bin")
    connection.deleteFile(SHARE, "impacket/b.bin")
    connection.deleteDirectory(SHARE, "impacket")
    connection.logoff()


def test_impacket_2_1():
    impacket_round(0x0210)


def test_impacket_3_0():
    impacket_round(0x0300)


run_tests(dict(globals()))
