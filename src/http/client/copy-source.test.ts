import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyPermission, isPublicAddress, parseAllowCopyFrom } from './copy-source.ts'

//  pattern, URL, permission
const PERMISSIONS = [
  // A literal host permits any address; a wildcard only public ones.
  ['https://example.com', 'https://example.com/a/b?sig=1', 'any address'],
  ['https://*.example.com', 'https://a.example.com/b', 'public only'],
  ['https://*', 'https://any.host/b', 'public only'],
  ['https://*', 'https://[2606:4700::1]/b', 'public only'],
  ['https://*,https://a.example.com', 'https://a.example.com/', 'any address'],
  ['http://localhost:8080', 'http://localhost:8080/x', 'any address'],
  ['http://[::1]:8080', 'http://[0:0:0:0:0:0:0:1]:8080/x', 'any address'],
  // Scheme and port count; a missing port is the scheme's default.
  ['https://example.com', 'http://example.com/', 'refused'],
  ['https://example.com', 'https://example.com:443/', 'any address'],
  ['https://example.com', 'https://example.com:8443/', 'refused'],
  ['https://*', 'https://example.com:8443/', 'refused'],
  ['https://*:8443', 'https://example.com:8443/', 'public only'],
  // Each * is one label.
  ['https://*.example.com', 'https://example.com/', 'refused'],
  ['https://*.example.com', 'https://a.b.example.com/', 'refused'],
  ['https://*.*.example.com', 'https://a.b.example.com/', 'public only'],
  ['https://a.*.example.com', 'https://a.b.example.com/', 'public only'],
  ['https://*.example.com', 'https://.example.com/', 'refused'],
  ['https://*.example.com', 'https://a.example.com.evil.org/', 'refused'],
  ['https://*.example.com', 'https://aexample.com/', 'refused'],
  ['https://*.example.com', 'https://a.example.com./', 'refused'],
  ['https://EXAMPLE.com', 'https://Example.COM/', 'any address'],
  ['https://*.bücher.example', 'https://a.xn--bcher-kva.example/', 'public only'],
  // Odd forms of an address are normalized before they are compared.
  ['http://127.0.0.1', 'http://2130706433/', 'any address'],
  ['http://127.0.0.1', 'http://0x7f.1/', 'any address'],
  ['http://127.0.0.1', 'http://0177.0.0.1/', 'any address'],
  ['http://127.0.0.1', 'http://127.0.0.2/', 'refused'],
  // Paths: all, one, or a prefix.
  ['https://h.example/', 'https://h.example/any', 'any address'],
  ['https://h.example/*', 'https://h.example/any', 'any address'],
  ['https://h.example/a/b', 'https://h.example/a/b?x=1', 'any address'],
  ['https://h.example/a/b', 'https://h.example/a/b/c', 'refused'],
  ['https://h.example/a/*', 'https://h.example/a/b/c', 'any address'],
  ['https://h.example/a/*', 'https://h.example/ab', 'refused'],
  ['https://h.example/a/*', 'https://h.example/A/b', 'refused'],
  ['https://h.example/a/*', 'https://h.example/a/../b', 'refused'],
  ['https://h.example/a/*', 'https://h.example/a/%2e%2E/b', 'refused'],
  ['https://h.example/a/*', 'https://h.example/a/..%2fb', 'refused'],
  ['https://h.example/a/*', 'https://h.example/a/%2e%2e%5Cb', 'refused'],
  ['https://h.example/a/*', 'https://h.example/a/..;x/b', 'refused'],
  ['https://h.example/a/*', 'https://h.example/a/b%2Fc..d', 'any address'],
  // Other URLs.
  ['https://*', 'https://user@example.com/', 'refused'],
  ['https://*', 'https://:password@example.com/', 'refused'],
  ['https://*,http://*', 'file:///etc/passwd', 'refused'],
  ['https://*,http://*', 'ftp://example.com/', 'refused'],
  ['', 'https://example.com/', 'refused'],
] as const

for (const [pattern, url, permission] of PERMISSIONS) {
  test(`--allowCopyFrom ${pattern}: ${url} → ${permission}`, () => {
    assert.equal(copyPermission(parseAllowCopyFrom([pattern]), new URL(url)), permission)
  })
}

test('patterns may be several texts, or one text with commas', () => {
  const one = parseAllowCopyFrom(['https://a.example', 'http://b.example:81/c/*'])
  assert.deepEqual(one, parseAllowCopyFrom([' https://a.example , http://b.example:81/c/*,']))
  assert.equal(one.length, 2)
})

//  pattern, part of the message
const BAD_PATTERNS = [
  ['example.com', 'must begin with a scheme'],
  ['*', 'must begin with a scheme'],
  ['ftp://example.com', 'must begin with a scheme'],
  ['*://example.com', 'must begin with a scheme'],
  ['https:example.com', 'must begin with a scheme'],
  ['https:///example.com', 'must begin with a scheme'],
  ['https://exa mple.com', 'not a URL'],
  ['https://*.0.0.1', 'not a URL'],
  ['https://example.com:*', 'not a URL'],
  ['https://user@example.com', 'a user or a password'],
  ['https://example.com/?a=b', 'a query or a fragment'],
  ['https://example.com/?', 'a query or a fragment'],
  ['https://example.com#a', 'a query or a fragment'],
  ['https://a*.example.com', 'a whole label'],
  ['https://**.example.com', 'a whole label'],
  ['https://example.*', 'the last label'],
  ['https://*.*', 'the last label'],
  ['https://example.com/*/b', 'must be its end'],
  ['https://example.com/a**', 'must be its end'],
] as const

for (const [pattern, reason] of BAD_PATTERNS) {
  test(`--allowCopyFrom ${pattern} is refused: ${reason}`, () => {
    assert.throws(
      () => parseAllowCopyFrom(['https://fine.example', pattern]),
      ({ message }: Error) => message.startsWith('--allowCopyFrom ') && message.includes(reason),
    )
  })
}

test('the message about an invalid pattern repeats no secret', () => {
  for (const text of ['https://h.example/b?sig=SECRET', 'https://user:SECRET@h.example/b']) {
    assert.throws(
      () => parseAllowCopyFrom([text]),
      ({ message }: Error) => message.includes('h.example/b') && !message.includes('SECRET'),
    )
  }
})

const PUBLIC = [
  ['1.1.1.1', '9.255.255.255', '11.0.0.0', '20.60.1.2', '100.63.255.255', '100.128.0.0'],
  ['168.63.129.15', '169.253.255.255', '172.15.255.255', '172.32.0.0', '192.167.0.1'],
  ['198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ['2000::1', '2603:1030::1', '2606:4700:4700::1111', '2a00:1450::1', '3ffe::1'],
].flat()

const INSIDE = [
  // unspecified and this network; loopback
  ['0.0.0.0', '0.1.2.3', '::', '127.0.0.1', '127.255.255.254', '::1'],
  // link-local, metadata services
  ['169.254.0.1', '169.254.169.254', '168.63.129.16', '100.100.100.200', '192.0.0.192'],
  ['fe80::1', 'fe80::1%eth0', 'febf::1', 'fd00:ec2::254'],
  // private, unique-local, site-local, carrier-grade NAT
  ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fdff::1', 'fec0::1'],
  ['100.64.0.0', '100.127.255.255'],
  // multicast, reserved, broadcast, documentation, benchmarks
  ['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', 'ff02::1', 'ff0e::1'],
  ['192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '198.19.255.255'],
  ['2001:db8::1', '3fff::1', '192.88.99.1', '100::1'],
  // IPv4 inside IPv6: mapped, compatible, NAT64, 6to4, Teredo; whatever the IPv4 address is
  ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:1.1.1.1', '::127.0.0.1', '::ffff:0:127.0.0.1'],
  ['64:ff9b::7f00:1', '64:ff9b::1.1.1.1', '64:ff9b:1::1', '2002:7f00:1::', '2001:0:1::1'],
  // not addresses
  ['', 'localhost', '1.1.1', '2130706433', '0x7f.0.0.1', '1.1.1.1:80', '[2606:4700::1]'],
].flat()

test('addresses on the public internet are public', () => {
  assert.deepEqual(
    PUBLIC.filter((ip) => !isPublicAddress(ip)),
    [],
  )
})

test('all other addresses are not public', () => {
  assert.deepEqual(INSIDE.filter(isPublicAddress), [])
})
