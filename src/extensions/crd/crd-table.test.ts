import { describe, expect, test } from "vitest";
import { CrdTable, type KnownCrd } from "./crd-table.ts";
import { establishedDefinition } from "../../../test/testing/extensions/crd/crd-object.ts";

function known(plural: string, revision: number): KnownCrd {
  return { definition: establishedDefinition({}, { plural }), revision };
}

function listening(): { readonly table: CrdTable; readonly told: string[] } {
  const table = new CrdTable();
  const reported: string[] = [];
  table.onChange(({ before, after }) => reported.push(`${before?.names.plural ?? "-"} ${after?.names.plural ?? "-"}`));
  table.onSettled(() => reported.push("settled"));
  return { table, told: reported };
}

describe("the table of CRDs", () => {
  test("finds a CRD by name, and by group and resource", () => {
    const { table } = listening();
    table.put(known("as", 1));
    expect(table.get("as.test.example.com")?.revision).toBe(1);
    expect(table.find("test.example.com", "as")?.revision).toBe(1);
    expect(table.find("test.example.com", "bs")).toBeUndefined();
  });

  test("notifies listeners of added, changed and removed CRDs", () => {
    const { table, told } = listening();
    table.put(known("as", 1));
    table.put(known("as", 2));
    table.remove("as.test.example.com");
    table.remove("as.test.example.com");
    expect(told).toEqual(["- as", "settled", "as as", "settled", "as -", "settled"]);
    expect(table.definitions()).toEqual([]);
  });

  test("is replaced by a reset with older revisions, because the store may have been restored from a backup", () => {
    const { table, told } = listening();
    table.put(known("as", 5));
    table.put(known("bs", 6));
    told.length = 0;
    table.reset([known("as", 3), known("bs", 6)]);
    expect(table.get("as.test.example.com")?.revision).toBe(3);
    expect(told).toEqual(["as as", "settled"]);
  });

  test("ignores a revision of a CRD that is older than the known one", () => {
    const { table, told } = listening();
    table.put(known("as", 5));
    const { generation } = table;
    table.put(known("as", 5));
    table.put(known("as", 4));
    expect(table.get("as.test.example.com")?.revision).toBe(5);
    expect(table.generation).toBe(generation);
    expect(told).toHaveLength(2);
  });

  test("contains exactly the CRDs that it was reset to, and is loaded from then on", () => {
    const { table, told } = listening();
    expect(table.isLoaded).toBe(false);
    table.reset([known("as", 1), known("bs", 2)]);
    expect(table.isLoaded).toBe(true);
    table.reset([known("bs", 2), known("cs", 3)]);
    expect(table.definitions().map(({ names }) => names.plural)).toEqual(["bs", "cs"]);
    expect(told).toEqual(["- as", "- bs", "settled", "as -", "- cs", "settled"]);
  });

  test("does not notify a listener that was removed", () => {
    const { table, told } = listening();
    const own: number[] = [];
    const end = table.onChange(() => own.push(1));
    table.put(known("as", 1));
    end();
    table.put(known("bs", 2));
    expect(own).toHaveLength(1);
    expect(told).toHaveLength(4);
  });

  test("resolves every promise that waits for the next change", async () => {
    const { table } = listening();
    const next = table.nextChange();
    table.put(known("as", 1));
    await expect(next).resolves.toBeUndefined();
  });
});
