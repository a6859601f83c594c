# impacket as an SMB client controlled by JSON lines: one command per line on stdin, one response per line on stdout.
# It holds files open, locks ranges and marks files for deletion. Arguments: the port, the account, its key, a share.
import json
import sys

from impacket.nt_errors import STATUS_SUCCESS
from impacket.smb3structs import SMB2_CLOSE, SMB2_LOCK, SMB2_LOCK_ELEMENT, SMB2Close, SMB2Lock
from impacket.smbconnection import SMBConnection

PORT, ACCOUNT, KEY, SHARE = sys.argv[1:5]
DISPOSITION_CLASS = 13
LOCK_FLAGS = {"shared": 0x11, "exclusive": 0x12, "unlock": 0x4}

connection = SMBConnection("127.0.0.1", "127.0.0.1", sess_port=int(PORT), preferredDialect=0x0300)
connection.login(ACCOUNT, KEY)
server = connection.getSMBServer()
tree = connection.connectTree(SHARE)
handles = {}


def do_open(path, access, share, disposition=1, options=0x40):
    handle = server.create(tree, path, access, share, options, disposition, 0)
    handles[len(handles) + 1] = handle
    return len(handles)


# impacket's own functions for these two fail for a file that is open twice and in Python 3.
def send(command, body):
    packet = server.SMB_PACKET()
    packet["Command"], packet["TreeID"], packet["Data"] = command, tree, body
    server.recvSMB(server.sendSMB(packet)).isValidAnswer(STATUS_SUCCESS)


def do_close(handle):
    body = SMB2Close()
    body["Flags"], body["FileID"] = 0, handles[handle]
    send(SMB2_CLOSE, body)


def do_lock(handle, offset, length, kind):
    element = SMB2_LOCK_ELEMENT()
    element["Offset"], element["Length"], element["Flags"] = offset, length, LOCK_FLAGS[kind]
    body = SMB2Lock()
    body["FileID"], body["LockCount"], body["Locks"] = handles[handle], 1, element.getData()
    send(SMB2_LOCK, body)


def do_disposition(handle, pending):
    server.setInfo(tree, handles[handle], bytes([1 if pending else 0]), 1, DISPOSITION_CLASS)


def do_write(handle, offset, text):
    server.write(tree, handles[handle], text.encode(), offset, len(text))


def do_read(handle, offset, length):
    return server.read(tree, handles[handle], offset, length).decode()


COMMANDS = {
    "open": do_open,
    "close": do_close,
    "lock": do_lock,
    "disposition": do_disposition,
    "write": do_write,
    "read": do_read,
}

for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"result": COMMANDS[request.pop("command")](**request)}
    except Exception as error:
        code = getattr(error, "get_error_code", None) or getattr(error, "getErrorCode", None)
        answer = {"failure": f"{code():#x}" if code else repr(error)}
    print(json.dumps(answer), flush=True)
