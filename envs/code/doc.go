// Package code is a world in which the agent writes programs and runs them (`env: {use: code}`).
//
// An episode is a working directory: a tree of files in memory (tree.go), which is its snapshot too. A program runs in a
// sandbox over a copy of it, and what it leaves there is the tree after. There are three: MicroPython in WebAssembly inside
// this process, which needs nothing (micropython.go, over the disk of disk.go), bubblewrap, and a container (box.go). What
// a program does, whatever that is, is an observation.
//
// A task is a function to write (problem.go), from a file or made here (made.go), and grade.go tells whether it is right.
package code
