import { expect, test } from "vitest";
import type { InProcessRequest, InProcessResponse } from "../../client/in-process.ts";
import type { JsonObject } from "../../meta/json.ts";
import { World } from "../../tools/simulator/world.ts";
import { flowSchemaStatus } from "./flow-schema-status.ts";

const schema = (name: string, level: string, conditions: JsonObject[] = []): JsonObject => ({
  apiVersion: "flowcontrol.apiserver.k8s.io/v1",
  metadata: { name },
  spec: { priorityLevelConfiguration: { name: level } },
  status: { conditions },
});

test("the Dangling condition is written once FlowSchemas and priority levels are synced, and whenever it changes", async () => {
  const world = new World({ seed: 1 });
  const said: string[] = [];
  const call = (request: InProcessRequest): Promise<InProcessResponse> => {
    const { metadata, status } = JSON.parse(request.body as string);
    said.push(`${metadata.name} ${status.conditions[0].status} ${status.conditions[0].reason}`);
    return Promise.resolve({ status: 200 } as InProcessResponse);
  };
  const { schemas, levels, task } = flowSchemaStatus({ clock: world.clock, call, ready: Promise.resolve() });
  const ending = new AbortController();
  const running = task.run(ending.signal);
  schemas.reset([schema("mine", "there"), schema("lost", "nowhere")]);
  await world.advance(10);
  expect(said).toEqual([]);
  levels.reset([{ metadata: { name: "there" } }]);
  await world.advance(10);
  expect(said.splice(0)).toEqual(["mine False Found", "lost True NotFound"]);
  const found = 'This FlowSchema references the PriorityLevelConfiguration object named "there" and it exists';
  schemas.put(schema("mine", "there", [{ type: "Dangling", status: "False", reason: "Found", message: found }]));
  schemas.remove("", "lost");
  await world.advance(10);
  expect(said).toEqual([]);
  levels.remove("", "there");
  await world.advance(10);
  expect(said).toEqual(["mine True NotFound"]);
  ending.abort();
  await running;
});
