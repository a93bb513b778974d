import { testSeedsWithRestores } from "./seeds.ts";

testSeedsWithRestores(1, 3);
