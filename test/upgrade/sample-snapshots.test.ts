/** Reads the sample snapshots, and compares their keys with lists that another program has made. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { openStoredDataFile } from "../../src/tools/upgrade/sources/open-file.ts";
import { QUIETLY } from "../testing/storage/etcd-file/read-all.ts";

const SNAPSHOTS = join(import.meta.dirname, "../../../shared/snapshots");

describe.skipIf(!existsSync(SNAPSHOTS))("a snapshot of a real kube-apiserver", () => {
  interface KeyList {
    readonly revision: string;
    readonly keys: Record<string, readonly [encoding: string, apiVersion: string, kind: string]>;
  }

  function encodingOf(value: Buffer): string {
    const text = value.toString("latin1");
    if (text.startsWith("k8s:enc:")) return "encrypted";
    return text.startsWith("k8s\0") ? "protobuf" : "json";
  }

  test.each(["emulated-1.33", "upgraded-1.36", "encrypted-three"])(
    "%s has the listed keys and encodings",
    async (name) => {
      const list = JSON.parse(gunzipSync(readFileSync(join(SNAPSHOTS, `${name}.keys.json.gz`))).toString()) as KeyList;
      const data = await openStoredDataFile(join(SNAPSHOTS, `${name}.db.gz`), QUIETLY);
      const found = new Map<string, string>();
      const walked = await data.walk({ ...QUIETLY, prefix: "" }, ({ key, value }) => {
        found.set(key, encodingOf(value));
        const [encoding, apiVersion = "", kind = ""] = list.keys[key] ?? [];
        // Both are in clear in every encoding that is not encrypted; the values of JSON have their own escapes.
        if (encoding === "protobuf") expect(value.subarray(0, 200).includes(kind)).toBe(true);
        if (encoding === "encrypted") expect(value.toString("latin1").startsWith(`k8s:enc:${apiVersion}`)).toBe(true);
      });
      await data.close();
      expect(Object.fromEntries(found)).toEqual(
        Object.fromEntries(Object.entries(list.keys).map(([key, [encoding]]) => [key, encoding])),
      );
      expect(walked.keys).toBe(found.size);
      expect(String(data.revision)).toBe(list.revision);
    },
  );
});
