import { expect, test } from "vitest";
import { startServer, CONFIG_MAPS, configMap } from "./start.ts";
for (let i=0;i<5;i++) test("t"+i, async () => {
  await using api = await startServer();
  const a = await api.create(CONFIG_MAPS, configMap("one"));
  expect(a.status).toBe(201);
  console.log(a.text);
});
