import { expect, test } from "vitest";
import { parseServerSpec } from "./server-spec.ts";
import { Skew } from "./skew.ts";

function skewOf(...specs: string[]): Skew {
  const servers = specs.map((text, index) => ({ id: `apiserver-${index + 1}`, spec: parseServerSpec(text) }));
  return new Skew(servers, []);
}

test("the example for the summary is a stable resource that one server serves and another does not", () => {
  const example = skewOf("1.33", "1.36").example();
  expect(example).toMatchObject({
    resource: "deviceclasses.v1.resource.k8s.io",
    through: { id: "apiserver-1" },
    from: { id: "apiserver-2" },
  });
});

test("a group version that is disabled on one server is listed for both: the one serves it, the other lacks it", () => {
  const skew = skewOf("1.36", "1.36+batch/v1=false");
  expect(skew.differenceOf("apiserver-1")).toEqual({ has: ["batch/v1"], lacks: [] });
  expect(skew.differenceOf("apiserver-2")).toEqual({ has: [], lacks: ["batch/v1"] });
  expect(skew.example()).toMatchObject({ resource: "jobs.v1.batch", through: { id: "apiserver-2" } });
});

test("servers that serve the same resources have no differences", () => {
  const skew = skewOf("1.36", "1.36");
  expect(skew.example()).toBeUndefined();
  expect(skew.differenceOf("apiserver-1")).toEqual({ has: [], lacks: [] });
});

test.each(["", "1.36+", "+batch/v1=false", "1.2", "1.36+nonsense", "1.36+none/v1=true"])(
  "%j is not a server spec",
  (text) => {
    expect(() => parseServerSpec(text)).toThrow();
  },
);

test("a server spec may contain several entries of runtime config", () => {
  expect(parseServerSpec("1.36+batch/v1=false+api/beta=true")).toMatchObject({
    release: "1.36",
    runtimeConfig: ["batch/v1=false", "api/beta=true"],
  });
});
