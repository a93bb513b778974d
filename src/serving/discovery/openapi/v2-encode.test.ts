import { expect, test } from "vitest";
import { openCatalog } from "../../../objects/catalog/catalog.ts";
import { openApiV2Document } from "../../../../test/testing/serving/discovery/openapi/v2-document.ts";
import { builtInV2 } from "./v2.ts";
import { encodeV2Json, encodeV2Protobuf } from "./v2-encode.ts";
import { encodeOpenApiV2 } from "./v2-protobuf.ts";
import { mergeV2Sources, sourceOf } from "./v2-source.ts";

const catalog = openCatalog({ release: "1.36" });

test("an OpenAPI 2 document that is encoded in turns is the document that is encoded at once", async () => {
  let turns = 0;
  const nextTurn = (callback: () => void): void => {
    turns++;
    queueMicrotask(callback);
  };
  const whole = openApiV2Document(catalog);
  const json = await encodeV2Json(builtInV2(catalog), nextTurn);
  expect(turns).toBeGreaterThan(10);
  expect(JSON.parse(json.bytes.toString())).toEqual(whole);
  expect((await encodeV2Json(builtInV2(catalog), undefined)).hash).toBe(json.hash);
  const protobuf = await encodeV2Protobuf(builtInV2(catalog), nextTurn);
  expect(protobuf.bytes.equals(encodeOpenApiV2(JSON.parse(json.bytes.toString())))).toBe(true);
});

test("merged OpenAPI 2 documents have each entry of the first document that has it, in the order of names", async () => {
  const one = {
    swagger: "2.0",
    paths: { "/b": { get: { operationId: "one" } } },
    definitions: { B: { type: "string" } },
  };
  const other = {
    ...{ swagger: "other", paths: { "/a": {}, "/b": {} }, definitions: { A: {}, B: {} } },
    parameters: { p: { name: "p" } },
  };
  const { bytes } = await encodeV2Json(mergeV2Sources([sourceOf(one), sourceOf(other)]), undefined);
  expect(bytes.toString()).toBe(
    JSON.stringify({
      ...{ swagger: "2.0", paths: { "/a": {}, "/b": { get: { operationId: "one" } } } },
      ...{ definitions: { A: {}, B: { type: "string" } }, parameters: { p: { name: "p" } } },
    }),
  );
});

test("the protobuf form has every type of field", () => {
  const schema = {
    ...{ type: "integer", format: "int32", minimum: 1, maxLength: 300, uniqueItems: true, enum: [1], required: ["a"] },
    ...{ additionalProperties: true, items: { $ref: "#/x" }, "x-kubernetes-int-or-string": true },
  };
  const parameters = [
    { name: "q", in: "query", type: "string", uniqueItems: true },
    { name: "n", in: "path", required: true, type: "string" },
    { $ref: "#/parameters/p" },
  ];
  const document = {
    ...{ swagger: "2.0", info: { title: "T", version: "1" }, security: [{ BearerToken: [] }] },
    securityDefinitions: { BearerToken: { type: "apiKey", name: "authorization", in: "header" } },
    paths: { "/x": { head: { operationId: "h", deprecated: true, parameters } } },
    definitions: { D: schema },
    parameters: { p: { name: "body", in: "body", required: true, schema: { $ref: "#/d" } } },
  };
  expect(encodeOpenApiV2(document).toString("hex")).toMatchInlineSnapshot(
    `"0a03322e3012060a0154120131425b12590a022f7812533a512a0168421b0a1912171a15120571756572792201713206737472696e67a0010142190a1712152213080112047061746822016e2a06737472696e67421212100a0e232f706172616d65746572732f7058014a6b0a690a014412641205696e74333249000000000000f03f58ac028001019a010161a201041202310aaa01021001b201090a07696e7465676572ba01070a050a03232f78fa01250a1a782d6b756265726e657465732d696e742d6f722d737472696e6712071205747275650a521e0a1c0a017012170a151204626f64791a04626f647920012a050a03232f6462110a0f0a0b426561726572546f6b656e12006a320a300a0b426561726572546f6b656e1221121f0a066170694b6579120d617574686f72697a6174696f6e1a06686561646572"`,
  );
});
