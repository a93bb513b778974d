import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sendControlRequest, openControl, type ControlHandler } from "./control.ts";

function temporaryDirectory(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "evenkeel-control-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

const echo: ControlHandler = (request) =>
  request.command === "status" ? Promise.resolve({ pid: 4711 }) : Promise.resolve(request);

test("a control request returns its result, or fails with the message of the error", async () => {
  using directory = temporaryDirectory();
  const control = await openControl(directory.path, (request) =>
    request.command === "fail" ? Promise.reject(new Error("it cannot be done")) : echo(request),
  );
  expect(await sendControlRequest(directory.path, { command: "fault", id: "a" })).toEqual({
    command: "fault",
    id: "a",
  });
  await expect(sendControlRequest(directory.path, { command: "fail" })).rejects.toThrow("it cannot be done");
  expect(statSync(join(directory.path, "control.sock")).mode & 0o777).toBe(0o600);
  control.close();
});

test("a second control server in the same directory is rejected with the process ID of the first", async () => {
  using directory = temporaryDirectory();
  const control = await openControl(directory.path, echo);
  await expect(openControl(directory.path, echo)).rejects.toThrow("is already running as process 4711");
  control.close();
});

test("the control socket of a killed process does not prevent a new one", async () => {
  using directory = temporaryDirectory();
  writeFileSync(join(directory.path, "control.sock"), "");
  await expect(sendControlRequest(directory.path, { command: "status" })).rejects.toThrow("no cluster is running");
  const control = await openControl(directory.path, echo);
  expect(await sendControlRequest(directory.path, { command: "status" })).toEqual({ pid: 4711 });
  control.close();
});

test.each([
  ["nonsense", "nonsense\n"],
  ["no request", "[1]\n"],
])("a control request that is %s returns an error", async (_, line) => {
  using directory = temporaryDirectory();
  const control = await openControl(directory.path, echo);
  const socket = connect(join(directory.path, "control.sock"));
  socket.write(line);
  const [response] = (await once(socket.setEncoding("utf8"), "data")) as [string];
  expect(JSON.parse(response)).toMatchObject({ ok: false });
  socket.destroy();
  control.close();
});

test("a control request that is too long closes the connection", async () => {
  using directory = temporaryDirectory();
  const control = await openControl(directory.path, echo);
  const socket = connect(join(directory.path, "control.sock"));
  socket.on("error", () => {});
  socket.write("x".repeat(100_000));
  await once(socket, "close");
  control.close();
});
