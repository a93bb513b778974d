import { describe, expect, test } from "vitest";
import { CurrentRevision } from "./current-revision.ts";

function controlled(): { asked: PromiseWithResolvers<number>[]; revision: CurrentRevision } {
  const asked: PromiseWithResolvers<number>[] = [];
  const revision = new CurrentRevision(() => {
    const question = Promise.withResolvers<number>();
    asked.push(question);
    return question.promise;
  });
  return { asked, revision };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the current revision", () => {
  test("is never taken from a read that was in flight when the caller requested it", async () => {
    const { asked, revision } = controlled();
    const first = revision.query();
    const second = revision.query();
    const third = revision.query();
    expect(asked).toHaveLength(1);
    asked[0]!.resolve(7);
    expect(await first).toBe(7);
    await turn();
    expect(asked).toHaveLength(2);
    const fourth = revision.query();
    asked[1]!.resolve(9);
    expect(await Promise.all([second, third])).toEqual([9, 9]);
    await turn();
    expect(asked).toHaveLength(3);
    asked[2]!.resolve(10);
    expect(await fourth).toBe(10);
  });

  test("is read once for all callers that arrive in the turn in which the previous read ends", async () => {
    const { asked, revision } = controlled();
    const first = revision.query();
    const second = revision.query();
    asked[0]!.resolve(7);
    await first;
    const third = revision.query();
    expect(asked).toHaveLength(1);
    await turn();
    expect(asked).toHaveLength(2);
    asked[1]!.resolve(8);
    expect(await Promise.all([second, third])).toEqual([8, 8]);
  });

  test("is read a second time after a failed read, which fails only the callers that shared it", async () => {
    const { asked, revision } = controlled();
    const first = revision.query();
    const second = revision.query();
    asked[0]!.reject(new Error("lost"));
    await expect(first).rejects.toThrow("lost");
    await turn();
    asked[1]!.resolve(3);
    expect(await second).toBe(3);
    const third = revision.query();
    asked[2]!.resolve(4);
    expect(await third).toBe(4);
  });
});
