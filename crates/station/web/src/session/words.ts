/** What people call tasks, by their kind in task_t. */
export const TASK_KINDS = ["hold", "stay", "route", "survey", "heading and speed", "return", "resume"];
