// What the app's scripts may rely on: a selector finds the element that the template of the page has, whatever its type.
interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}
interface Element {
  closest(selectors: string): any;
  elements: any;
}
interface EventTarget {
  value: any;
  name: string;
  files: any;
  checked: boolean;
  dataset: any;
  closest(selectors: string): any;
}
interface Event {
  dataTransfer: DataTransfer;
  key: string;
}
