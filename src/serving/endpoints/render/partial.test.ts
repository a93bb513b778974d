import fc from "fast-check";
import { expect, test } from "vitest";
import { endOfObject } from "./partial.ts";

test("endOfObject finds the end of an object, whatever its strings contain", () => {
  const nasty = fc.string({
    unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "a", "é", "\u2028", "😀", "\n", "\u0000"),
  });
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      nasty,
      fc.integer(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(nasty, tie("value"), { maxKeys: 3 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(nasty, value, { maxKeys: 4 }), nasty, (metadata, behind) => {
      const object = JSON.stringify(metadata);
      const text = Buffer.from(`"metadata":${object},"data":${JSON.stringify({ behind })}}`);
      const end = endOfObject(text, '"metadata":'.length);
      expect(text.toString("utf8", '"metadata":'.length, end)).toBe(object);
    }),
    { numRuns: 1000, seed: 1 },
  );
});
