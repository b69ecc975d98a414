// Package propose has a model write tasks for an environment of tools: many, unlike each other, easy and hard ones alike.
//
// Run is the whole of it (propose.go). Tasks are asked for in small batches, each of one difficulty and about the tools that have been
// used least (prompt.go). A reply is read strictly and asked for again where it is no good (reply.go); a task that is much like an
// earlier one does not count (alike.go). Where a strong model is given it plays each task (solve.go) and says of its
// attempt whether it did what was asked (verify.go); what it cannot solve is left out. Everything that is paid for is kept in a journal beside the tasks (journal.go): killed and run again, Run
// asks for nothing twice, and comes to the same tasks.
package propose
