/** The argument of a Streamlit component. */
export interface Component<Data> {
  /** From Python. */
  data: Data;
  /** The same for all runs of the page. */
  parentElement: Element;
  /** Sends a value to Python. */
  setStateValue: (name: string, value: unknown) => void;
  /** Sends one that holds for a single run of the page. */
  setTriggerValue: (name: string, value: unknown) => void;
}
