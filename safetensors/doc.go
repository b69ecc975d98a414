// Package safetensors reads and writes the safetensors file format: named arrays of numbers behind a JSON
// header. Weights, optimiser states and training batches of longhaul are such files, so that Python reads them
// without longhaul and longhaul reads them without Python.
//
// A file is 8 bytes N (little-endian), N bytes of JSON, then the data:
//
//	{"__metadata__": {"k": "v"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//
// The data of the tensors fill the rest of the file without gap or overlap
// (https://huggingface.co/docs/safetensors). Encode writes the same bytes for the same input, so that a file can
// be named by its hash; Decode trusts nothing, for the bytes may come from anywhere.
package safetensors
