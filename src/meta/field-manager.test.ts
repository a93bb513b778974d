import { expect, test } from "vitest";

import { fieldManagerErrors } from "./field-manager.ts";

test.each([
  ["kubectl-client-side-apply", []],
  ["a b é", []],
  ["x".repeat(129), ["Too long: may not be more than 128 bytes"]],
  [
    "é\n\u0001",
    [
      String.raw`Invalid value: "é\n\x01": invalid character U+000A (at position 2)`,
      String.raw`Invalid value: "é\n\x01": invalid character U+0001 (at position 3)`,
    ],
  ],
])("the name %j has the errors %j", (manager, messages) => {
  const errors = [...fieldManagerErrors(manager, "fieldManager")];
  expect(errors.map(({ message }) => message)).toEqual(messages);
});
