import { testSeeds } from "./seeds.ts";

testSeeds(39, 50);
