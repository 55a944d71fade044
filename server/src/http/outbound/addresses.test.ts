import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cidr } from '../../kinds.ts';
import { createAddressRule, LOOPBACK } from './addresses.ts';

const range = (text: string) => {
  const found = cidr.read(text);
  assert.ok(found, text);
  return found;
};

test('only public addresses may be called', () => {
  const mayCall = createAddressRule([]);
  const refused = [
    ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ...['169.254.169.254', '100.100.100.200', '192.0.0.192', '168.63.129.16', '224.0.0.1', '255.255.255.255'],
    ...['::1', '::', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254', 'ff02::1'],
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:a9fe:a9fe', '[::ffff:10.0.0.1]', '::127.0.0.1'],
    ...['64:ff9b::7f00:1', '64:ff9b:1::1', '2002:7f00:1::1', '2001:0:1::1', '2001:db8::1'],
    ...['example.org', '', '1.2.3'],
  ];
  for (const address of refused) assert.equal(mayCall(address), false, address);
  for (const address of ['93.184.216.34', '172.32.0.1', '::ffff:8.8.8.8', '2606:4700::1111', '[2a00:1450::1]'])
    assert.equal(mayCall(address), true, address);
});

test('configuration opens ranges, and only those', () => {
  const mayCall = createAddressRule([range('10.1.0.0/16'), range('fd12::/16'), range('192.168.7.7')]);
  for (const address of ['10.1.255.1', 'fd12::1', '192.168.7.7', '::ffff:10.1.0.1'])
    assert.ok(mayCall(address), address);
  for (const address of ['10.2.0.1', 'fd13::1', '192.168.7.8', '127.0.0.1']) assert.ok(!mayCall(address), address);
});

test('loopback can be opened as a whole', () => {
  const mayCall = createAddressRule(LOOPBACK);
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) assert.ok(mayCall(address), address);
  for (const address of ['10.0.0.1', '::2', '0.0.0.0']) assert.ok(!mayCall(address), address);
});
