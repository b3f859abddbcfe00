/** Tells whether a question is still the newest when its answer comes: an answer
 * that was overtaken says how things were. */
export function newest(): () => () => boolean {
  let asked = 0;
  return () => {
    asked += 1;
    const own = asked;
    return () => own === asked;
  };
}
