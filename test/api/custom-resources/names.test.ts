import { describe, expect, test } from "vitest";
import { startServer, type Json } from "../start.ts";
import { condition, define, definition, DEFINITIONS, GROUP, redefine, version } from "./define.ts";

const FIRST = definition([version("v1")], {
  names: { plural: "widgets", kind: "Widget", shortNames: ["wd"], categories: ["all"] },
});

function other(names: Json): Json {
  return definition([version("v1")], { names: { plural: "others", kind: "Other", ...names } });
}

describe("if another CRD of the group uses a name of the CRD,", () => {
  test.each([
    ["singular", { singular: "widget" }, "SingularConflict", '"widget" is already in use'],
    ["singular that is a short name", { singular: "wd" }, "SingularConflict", '"wd" is already in use'],
    ["short name", { shortNames: ["ot", "wd"] }, "ShortNamesConflict", '"wd" is already in use'],
    [
      "two short names",
      { shortNames: ["widgets", "wd"] },
      "ShortNamesConflict",
      '["widgets" is already in use, "wd" is already in use]',
    ],
    ["kind", { kind: "Widget", listKind: "OtherList" }, "KindConflict", '"Widget" is already in use'],
    ["list kind", { listKind: "WidgetList" }, "ListKindConflict", '"WidgetList" is already in use'],
  ])("the %s is not accepted, and the CRD is not served", async (_what, names, reason, message) => {
    await using api = await startServer();
    await define(api, FIRST);
    const defined = await define(api, other({ singular: "other", ...names }));
    expect(condition(defined, "NamesAccepted")).toMatchObject({ status: "False", reason, message });
    expect(condition(defined, "Established")).toMatchObject({ status: "False", reason: "NotAccepted" });
    expect((await api.get(`/apis/${GROUP}/v1/others`)).status).toBe(404);
    const { body } = await api.get(`/apis/${GROUP}/v1`);
    expect(body.resources.map(({ name }: Json) => name)).toEqual(["widgets"]);
  });

  test("the names that do not conflict are accepted", async () => {
    await using api = await startServer();
    await define(api, FIRST);
    const { status } = await define(api, other({ shortNames: ["wd"], categories: ["all"] }));
    expect(status.acceptedNames).toMatchObject({
      plural: "others",
      singular: "other",
      kind: "Other",
      categories: ["all"],
    });
    expect(status.acceptedNames.shortNames).toBeUndefined();
  });

  test("the name is accepted after the other CRD is deleted", async () => {
    await using api = await startServer();
    await define(api, FIRST);
    await define(api, other({ shortNames: ["wd"] }));
    await api.delete(`${DEFINITIONS}/widgets.${GROUP}`);
    await api.world.advance(2_000);
    const { body } = await api.get(`${DEFINITIONS}/others.${GROUP}`);
    expect(condition(body, "NamesAccepted")).toMatchObject({ status: "True", reason: "NoConflicts" });
    expect(condition(body, "Established").status).toBe("True");
    expect((await api.get(`/apis/${GROUP}/v1/others`)).status).toBe(200);
  });

  test("the name is accepted after the other CRD gives up the name", async () => {
    await using api = await startServer();
    await define(api, FIRST);
    await define(api, other({ shortNames: ["wd"] }));
    await redefine(api, `widgets.${GROUP}`, (spec) => ({ ...spec, names: { ...spec.names, shortNames: ["wi"] } }));
    await api.world.advance(2_000);
    const { body } = await api.get(`${DEFINITIONS}/others.${GROUP}`);
    expect(body.status.acceptedNames.shortNames).toEqual(["wd"]);
    expect(condition(body, "NamesAccepted").status).toBe("True");
  });

  test("an established CRD that takes the name in an update stays established with its previous names", async () => {
    await using api = await startServer();
    await define(api, FIRST);
    await define(api, other({ shortNames: ["ot"] }));
    await redefine(api, `others.${GROUP}`, (spec) => ({ ...spec, names: { ...spec.names, shortNames: ["wd"] } }));
    const { body } = await api.get(`${DEFINITIONS}/others.${GROUP}`);
    expect(condition(body, "NamesAccepted")).toMatchObject({ status: "False", reason: "ShortNamesConflict" });
    expect(condition(body, "Established").status).toBe("True");
    expect(body.status.acceptedNames.shortNames).toEqual(["ot"]);
    expect((await api.get(`/apis/${GROUP}/v1/others`)).status).toBe(200);
  });

  test("a CRD with the same names in another group is accepted", async () => {
    await using api = await startServer();
    await define(api, FIRST);
    const defined = await define(api, {
      ...FIRST,
      metadata: { name: "widgets.other.example.com" },
      spec: { ...FIRST.spec, group: "other.example.com" },
    });
    expect(condition(defined, "Established").status).toBe("True");
  });
});

test("of several CRDs that are created concurrently with the same names, only one is accepted", async () => {
  await using api = await startServer();
  const wanting = ["as", "bs", "cs", "ds"].map((plural) =>
    definition([version("v1")], { names: { plural, singular: plural, kind: "Same", shortNames: ["sm"] } }),
  );
  await api.world.run(Promise.all(wanting.map((object) => api.begin("POST", DEFINITIONS, object))));
  await api.world.advance(2_000);
  const { body } = await api.get(DEFINITIONS);
  const accepted = body.items.filter((item: Json) => condition(item, "NamesAccepted").status === "True");
  expect(body.items).toHaveLength(4);
  expect(accepted).toHaveLength(1);
});
