import { describe, expect, test } from "vitest";
import { againstOptions } from "../../bench/against-options.ts";
import { ChunkedBody } from "../../bench/client/chunked-body.ts";
import { UsageError } from "../../bench/usage-error.ts";

const BODY = 'c;x=1\r\n{"a":"1\\n2"}\r\n2\r\n\r\n\r\n0\r\n\r\n';

describe("a body in chunked encoding", () => {
  test.each([1, 2, 3, 7, BODY.length])(
    "is complete after its last chunk if it arrives in pieces of %i bytes",
    (size) => {
      const data: Buffer[] = [];
      const body = new ChunkedBody((part) => data.push(part));
      const bytes = Buffer.from(BODY);
      const ends: boolean[] = [];
      for (let at = 0; at < bytes.length; at += size) ends.push(body.read(bytes.subarray(at, at + size)));
      expect(ends.indexOf(true)).toBe(ends.length - 1);
      expect(Buffer.concat(data).toString()).toBe('{"a":"1\\n2"}\r\n');
    },
  );

  test("is rejected if a chunk does not begin with its size", () => {
    expect(() => new ChunkedBody(() => {}).read(Buffer.from("size\r\n"))).toThrow('a chunk begins with "size');
  });
});

describe("the flags of --against", () => {
  test("verify the certificate of the other server unless the user disables it", () => {
    const against = "https://kube.example:6443";
    expect(againstOptions({ against, token: "T" })?.endpoint).toEqual({ host: "kube.example", port: 6443, trust: {} });
    const insecure = againstOptions({ against, token: "T", "insecure-skip-tls-verify": true });
    expect(insecure?.endpoint).toEqual({ host: "kube.example", port: 6443 });
  });

  test.each([
    [{ token: "T" }, "--token needs --against"],
    [{ against: "http://127.0.0.1", token: "T" }, "--against must be a URL"],
    [{ against: "https://127.0.0.1" }, "either --token or --token-file"],
    [{ against: "https://127.0.0.1", token: "a b" }, "characters that a header cannot contain"],
    [{ against: "https://127.0.0.1", token: "T", "against-pid": "0" }, "there is no process"],
    [{ against: "https://127.0.0.1", token: "T", "ca-file": "/missing" }, "cannot read /missing"],
  ])("%j are rejected: %s", (flags, why) => {
    expect(() => againstOptions(flags)).toThrow(UsageError);
    expect(() => againstOptions(flags)).toThrow(why);
  });
});
