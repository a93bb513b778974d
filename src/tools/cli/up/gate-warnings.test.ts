import { expect, test } from "vitest";
import { gateWarnings } from "./gate-warnings.ts";
import { parseServerSpec } from "./server-spec.ts";

test("a misspelled feature gate gives one warning with a suggestion, however many servers there are", () => {
  const specs = ["1.36", "1.36", "1.37+batch/v1=false"].map((text) => parseServerSpec(text));
  expect(gateWarnings(specs, ["StorageVersionApi=true,InPlacePodVerticalScaling=false"])).toEqual([
    "Warning: feature gate StorageVersionApi is ignored: unknown feature gate, did you mean StorageVersionAPI?",
  ]);
});

test("a feature gate that only some of the servers have gives a warning for the others", () => {
  const specs = ["1.31", "1.36"].map((text) => parseServerSpec(text));
  expect(gateWarnings(specs, ["AppArmor=true"])).toEqual([
    "Warning: feature gate AppArmor is ignored: Kubernetes 1.36 does not have this feature gate, only 1.28 to 1.32",
  ]);
});
