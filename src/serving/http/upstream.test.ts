import { expect, test } from "vitest";
import { authorityOf } from "./upstream.ts";

test("authorityOf puts brackets around an IPv6 address", () => {
  expect(authorityOf({ host: "192.0.2.1", port: 1 })).toBe("192.0.2.1:1");
  expect(authorityOf({ host: "2001:db8::1", port: 1 })).toBe("[2001:db8::1]:1");
});
