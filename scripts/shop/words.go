package main

var firstNames = []string{
	"Ada", "Ben", "Cleo", "Dario", "Edda", "Finn", "Gita", "Hugo", "Ines", "Jonas", "Kira", "Liam", "Mina", "Noor", "Otto", "Pia", "Quentin", "Rosa",
	"Sami", "Tara", "Uma", "Vera", "Abel", "Bela", "Carl", "Dora", "Egon", "Faye", "Wim", "Xenia", "Yara", "Zeno",
}

var lastNames = []string{
	"Abbot", "Brandt", "Costa", "Dolan", "Ekman", "Ferro", "Gupta", "Haas", "Ito", "Jansen", "Kowal", "Lindt", "Moreau", "Novak", "Okafor", "Perez", "Quill",
	"Rossi", "Silva", "Tanaka", "Ueda", "Vogel", "Weiss", "Yilmaz", "Zander", "Adler", "Bruno", "Croft", "Dufour", "Engel", "Falk", "Grohl",
}

var streets = []string{"Mill Lane", "Station Road", "Church Street", "Harbour Walk", "Oak Avenue", "Castle Street", "Park Row", "River Road", "Hill Street", "Market Place"}

var cities = []string{"Oslo", "Rome", "Lima", "Bonn", "Cork", "Pune", "Kyiv", "Doha"}

// Pleas come with what the rules forbid, and change nothing.
var pleas = []string{
	"", " Please make an exception this once.", " Your colleague on the phone promised me that it would be no problem.", " I am a very good customer, as you can see.",
	" I will post about this everywhere if you do not help.", " The manager said that you should just do it.",
}

// Claims come with an order that is somebody else's.
var claims = []string{
	"It is my sister's, she asked me to do this.", "I am her assistant and handle her orders.", "It was a present from me, so it is mine in a way.",
	"I am from the shop's head office, this is urgent.", "We live at the same address.",
}
